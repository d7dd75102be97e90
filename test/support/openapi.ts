import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'vitest';

/** The parts of an OpenAPI 3.1 document that tests read. */
export interface OpenApi {
  paths: Record<string, Record<string, OpenApiOperation>>;
  components: { schemas: Record<string, JsonSchema> };
}

export interface OpenApiOperation {
  operationId: string;
  deprecated?: boolean;
  parameters?: { in: 'path' | 'query' | 'header'; name: string; required?: boolean; schema: JsonSchema }[];
  requestBody?: { required?: boolean; content: Record<string, { schema: JsonSchema }> };
  responses: Record<string, { content?: Record<string, { schema: JsonSchema }> }>;
}

export type JsonSchema = Record<string, unknown>;

export interface Operation {
  id: string;
  method: string;
  /** `/v1/spaces/{space_id}/…` */
  path: string;
  declared: OpenApiOperation;
}

export interface Answered {
  status: number;
  headers: { 'content-type'?: string | undefined };
  text: string;
}

/** Our own OpenAPI document, and a check of answers against it. */
export class ApiDescription {
  readonly document: OpenApi;
  readonly operations: Operation[];
  /** The steps of each operation's path, split once: every call of a test looks for its operation. */
  readonly #templates: { operation: Operation; steps: string[] }[];
  readonly #ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });

  constructor(document: OpenApi) {
    this.document = document;
    this.operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, declared]) => ({
        id: declared.operationId,
        method: method.toUpperCase(),
        path,
        declared,
      })),
    );
    this.#templates = this.operations.map((operation) => ({ operation, steps: operation.path.split('/') }));
    this.#ajv.addSchema(document, 'api');
  }

  /** The operation of a concrete path without its prefix, if there is one. */
  operationAt(method: string, path: string): Operation | undefined {
    const steps = path.split('?', 1)[0]!.split('/');
    return this.#templates.find(
      ({ operation, steps: template }) =>
        operation.method === method &&
        template.length === steps.length &&
        template.every((step, i) => step.startsWith('{') || step === steps[i]),
    )?.operation;
  }

  /** Fails unless status, media type and body are what the operation declares. */
  expectMatches(operation: Operation, answer: Answered): void {
    const { responses } = operation.declared;
    const status = [String(answer.status), `${Math.floor(answer.status / 100)}XX`].find(
      (key) => key in responses,
    );
    expect(status, `${operation.id} does not declare the status ${answer.status}`).toBeDefined();
    const { content } = responses[status!]!;
    if (content === undefined) {
      expect(answer.text, `${operation.id} answered ${answer.status} with`).toBe('');
      return;
    }
    const mediaType = (answer.headers['content-type'] ?? '').split(';')[0]!;
    expect(Object.keys(content), `${operation.id} answered ${answer.status} as`).toContain(mediaType);
    if (!mediaType.endsWith('json')) {
      return;
    }
    const pointer = ['paths', operation.path, operation.method.toLowerCase(), 'responses', status!]
      .concat('content', mediaType, 'schema')
      .map((step) => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1')))
      .join('/');
    const validate = this.#ajv.getSchema(`api#/${pointer}`)!;
    const valid = validate(JSON.parse(answer.text));
    expect(
      valid ? [] : validate.errors?.map(({ instancePath, message }) => `${instancePath} ${message}`),
      `${operation.id} answered ${answer.status} with ${answer.text.slice(0, 500)}`,
    ).toEqual([]);
  }
}

let committed: ApiDescription | undefined;

/** Our own OpenAPI document, as it is committed: a check compares it with what a gateway serves. */
export function committedApi(): ApiDescription {
  const file = new URL('../../docs/openapi.json', import.meta.url);
  return (committed ??= new ApiDescription(JSON.parse(readFileSync(file, 'utf8')) as OpenApi));
}
