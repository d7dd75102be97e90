import { z } from 'zod';
import type { Declaration } from '#api/trpc/trpc.ts';
import { appRouter } from '#api/trpc/router.ts';
import type { Answer, TestGateway } from './gateway.ts';

export interface Procedure {
  path: string;
  type: 'query' | 'mutation';
  declared: Partial<Declaration> | undefined;
  input: z.ZodType | undefined;
  output: unknown;
}

interface Definition {
  type: 'query' | 'mutation';
  meta?: Partial<Declaration>;
  inputs: z.ZodType[];
  output?: unknown;
}

/** The procedures as they are registered. */
export function procedures(of: { _def: { procedures: object } } = appRouter): Procedure[] {
  // oxlint-disable-next-line no-underscore-dangle -- where tRPC keeps them
  return Object.entries(of._def.procedures as Record<string, unknown>).map(([path, procedure]) => {
    const { _def: definition } = procedure as { _def: Definition };
    const { type, meta, inputs, output } = definition;
    return { path, type, declared: meta, input: inputs[0], output };
  });
}

export interface ProcedureCall {
  procedure: Pick<Procedure, 'path' | 'type'>;
  input?: unknown;
  apiKey?: string;
  prefix?: '/api' | '/api-proxy';
  headers?: Record<string, string>;
}

/** One call as tRPC's clients make it: queries by GET, mutations by POST. */
export function callProcedure(gateway: TestGateway, call: ProcedureCall): Promise<Answer> {
  const { procedure, input, prefix = '/api', ...rest } = call;
  const asked = procedure.type === 'query';
  const search = asked && input !== undefined ? `?input=${encodeURIComponent(JSON.stringify(input))}` : '';
  return gateway.send({
    method: asked ? 'GET' : 'POST',
    path: `/trpc/${procedure.path}${search}`,
    prefix,
    ...(asked || input === undefined ? {} : { body: input }),
    ...rest,
  });
}

/** The error object of a failed call. */
// oxlint-disable-next-line typescript/no-explicit-any
export const errorOf = (answer: Answer): any => answer.body?.error?.data?.error;

/** Every text that an input can hold, by its path. */
export function textFields(input: z.ZodType | undefined): string[] {
  return input === undefined
    ? []
    : walk(z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' }) as Json, '');
}

interface Json {
  type?: unknown;
  enum?: unknown;
  const?: unknown;
  properties?: Record<string, Json>;
  items?: Json;
  anyOf?: Json[];
  additionalProperties?: unknown;
}

function walk(schema: Json, path: string): string[] {
  if (schema.enum !== undefined || schema.const !== undefined) {
    return [];
  }
  const inner = [
    ...(schema.anyOf ?? []).flatMap((each) => walk(each, path)),
    ...(schema.items === undefined ? [] : walk(schema.items, `${path}[]`)),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, each]) =>
      walk(each, path === '' ? name : `${path}.${name}`),
    ),
  ];
  const open = typeof schema.additionalProperties === 'object';
  return schema.type === 'string' || open ? [...inner, open ? `${path}.*` : path] : inner;
}
