import type { JsonSchema, OpenApi, Operation } from './openapi.ts';

/**
 * Every place of a request where a caller may put free text, and so an id: `createResponse body
 * tools[].collection_ids[]`. Closed enumerations and numbers hold none.
 */
export function textPositions(document: OpenApi, operation: Operation): string[] {
  const { parameters = [], requestBody } = operation.declared;
  const found = parameters.flatMap(({ in: place, name, schema }) =>
    holdsText(schema) ? [`${place} ${name}`] : [],
  );
  const body = requestBody?.content['application/json']?.schema;
  if (body !== undefined) {
    found.push(...walk(document, body, '').map((pointer) => `body ${pointer}`));
  }
  return [...new Set(found)].map((position) => `${operation.id} ${position}`);
}

/** The members of an operation's body. */
export function bodyFields(document: OpenApi, operation: Operation): string[] {
  const schema = operation.declared.requestBody?.content['application/json']?.schema;
  return schema === undefined ? [] : Object.keys(resolve(document, schema).properties as object);
}

function resolve(document: OpenApi, schema: JsonSchema): JsonSchema {
  return typeof schema.$ref === 'string'
    ? document.components.schemas[schema.$ref.split('/').at(-1)!]!
    : schema;
}

function holdsText(schema: JsonSchema): boolean {
  const isOpen = Object.keys(schema).length === 0;
  return isOpen || (schema.type === 'string' && schema.enum === undefined && schema.const === undefined);
}

function walk(document: OpenApi, schema: JsonSchema, at: string): string[] {
  if (typeof schema.$ref === 'string') {
    return walk(document, resolve(document, schema), at);
  }
  const inner = [...((schema.anyOf ?? schema.oneOf ?? []) as JsonSchema[])].flatMap((each) =>
    walk(document, each, at),
  );
  for (const [name, member] of Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>)) {
    inner.push(...walk(document, member, at === '' ? name : `${at}.${name}`));
  }
  if (schema.type === 'array') {
    inner.push(...walk(document, (schema.items ?? {}) as JsonSchema, `${at}[]`));
  }
  if (
    schema.type === 'object' &&
    typeof schema.additionalProperties === 'object' &&
    schema.properties === undefined
  ) {
    inner.push(...walk(document, schema.additionalProperties as JsonSchema, `${at}.*`));
  }
  return holdsText(schema) ? [...inner, at] : inner;
}
