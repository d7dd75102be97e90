import type { JsonSchema, OpenApi, Operation } from './openapi.ts';

/** One place of a body that holds a text or a number, read from our own description. */
export interface BodyPlace {
  /** As an error names it: `tools.0.name`. */
  param: string;
  holds: 'text' | 'number' | 'anything';
  /** Maximum of characters; undefined without a limit. */
  lengthLimit: number | undefined;
  /** The body with `value` there. */
  put: (body: unknown, value: unknown) => unknown;
  /** Whether `value` is the only possible fault: no required neighbour is missing. */
  isAlone: (body: unknown) => boolean;
}

const asObject = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};

/**
 * Every place of an operation's body. A union is entered as a text where it may be one, else by its first
 * choice.
 */
export function bodyPlaces(document: OpenApi, operation: Operation): BodyPlace[] {
  const schema = bodyOf(document, operation);
  if (schema === undefined) {
    return [];
  }
  const places = walk(document, schema);
  for (const name of Object.keys(asObject(schema.properties))) {
    const field = asObject(schema.properties)[name] as JsonSchema;
    const met = places.some(({ param }) => param === name || param.startsWith(`${name}.`));
    if (!met && !isSwitch(document, field)) {
      throw new Error(`No hostile value reaches the body of ${operation.id} at ${name}.`);
    }
  }
  return places;
}

/** The required members of a body that are never null. */
export function requiredFields(document: OpenApi, operation: Operation): string[] {
  const schema = bodyOf(document, operation);
  return ((schema?.required ?? []) as string[]).filter(
    (name) => !choose(document, asObject(schema?.properties)[name] as JsonSchema).isNullable,
  );
}

function bodyOf(document: OpenApi, operation: Operation): JsonSchema | undefined {
  const schema = operation.declared.requestBody?.content['application/json']?.schema;
  return schema === undefined ? undefined : resolve(document, schema);
}

function resolve(document: OpenApi, schema: JsonSchema): JsonSchema {
  return typeof schema.$ref === 'string'
    ? resolve(document, document.components.schemas[schema.$ref.split('/').at(-1)!]!)
    : schema;
}

/** Holds only booleans. */
function isSwitch(document: OpenApi, declared: JsonSchema): boolean {
  const { schema } = choose(document, declared);
  const members = Object.values(asObject(schema.properties)) as JsonSchema[];
  return (
    [schema.type].flat().includes('boolean') ||
    (members.length > 0 && members.every((member) => isSwitch(document, member)))
  );
}

interface Choice {
  schema: JsonSchema;
  isNullable: boolean;
  /** Whether the replaced value may have been another choice. */
  isOneOfMany: boolean;
}

function choose(document: OpenApi, schema: JsonSchema): Choice {
  const whole = resolve(document, schema);
  const choices = ((whole.anyOf ?? whole.oneOf) as JsonSchema[] | undefined)?.map((each) =>
    choose(document, each),
  );
  if (choices === undefined) {
    return { schema: whole, isNullable: [whole.type].flat().includes('null'), isOneOfMany: false };
  }
  const real = choices.filter((each) => each.schema.type !== 'null');
  const chosen = real.find((each) => each.schema.type === 'string') ?? real[0]!;
  return {
    schema: chosen.schema,
    isNullable: choices.some((each) => each.isNullable),
    isOneOfMany: real.length > 1 || chosen.isOneOfMany,
  };
}

function walk(document: OpenApi, declared: JsonSchema): BodyPlace[] {
  const { schema, isOneOfMany } = choose(document, declared);
  const found = within(document, schema);
  return isOneOfMany ? found.map((place) => again(place)) : found;
}

function within(document: OpenApi, schema: JsonSchema): BodyPlace[] {
  if (schema.type === 'array') {
    return walk(document, (schema.items ?? {}) as JsonSchema).map((place) => ({
      ...place,
      param: joined('0', place.param),
      put: (_list, value) => [place.put(undefined, value)],
      isAlone: () => place.isAlone(undefined),
    }));
  }
  if (schema.type === 'object') {
    const { properties, additionalProperties, required = [] } = schema;
    const members = Object.entries(asObject(properties));
    if (typeof additionalProperties === 'object' && properties === undefined) {
      members.push(['k', additionalProperties]);
    }
    return members.flatMap(([name, member]) =>
      walk(document, member as JsonSchema).map((place) => inMember(place, name, required as string[])),
    );
  }
  const leaf = { param: '', put: (_old: unknown, value: unknown) => value, isAlone: () => true };
  if (schema.type === 'string') {
    const isFree = schema.enum === undefined && schema.const === undefined && schema.pattern === undefined;
    if (isFree && schema.maxLength === undefined) {
      throw new Error(`A text without a longest length: ${JSON.stringify(schema)}.`);
    }
    const lengthLimit = (schema.maxLength as number | undefined) ?? 1000;
    return [{ ...leaf, holds: 'text', lengthLimit }];
  }
  if (schema.type === 'integer' || schema.type === 'number') {
    return [{ ...leaf, holds: 'number', lengthLimit: undefined }];
  }
  return schema.type === undefined ? [{ ...leaf, holds: 'anything', lengthLimit: undefined }] : [];
}

function inMember(place: BodyPlace, name: string, required: string[]): BodyPlace {
  return {
    ...place,
    param: joined(name, place.param),
    put: (body, value) => ({ ...asObject(body), [name]: place.put(asObject(body)[name], value) }),
    isAlone: (body) =>
      required.every((each) => each === name || each in asObject(body)) &&
      place.isAlone(asObject(body)[name]),
  };
}

/** Replaces the value at the place. */
const again = (place: BodyPlace): BodyPlace => ({
  ...place,
  put: (_old, value) => place.put(undefined, value),
  isAlone: () => place.isAlone(undefined),
});

const joined = (name: string, rest: string): string => (rest === '' ? name : `${name}.${rest}`);
