import { z } from 'zod';

/** Shapes that all operations share. Wire shapes are defined in this folder only. */

/** In lower case, since ids are compared as text. */
export const uuid = z
  .uuid()
  .toLowerCase()
  .meta({ examples: ['01a1fe56-c459-7491-a31d-093e3c1f9c54'] });

export const timestamp = z.iso.datetime().meta({ examples: ['2026-11-27T08:30:00.000Z'] });

/** At UTC. */
export const day = z.iso.date().meta({ description: 'At UTC.', examples: ['2026-11-27'] });

/**
 * With an offset of up to 15:59, in the years 1 to 9999 at UTC, which PostgreSQL supports. Fractions beyond
 * milliseconds are truncated, which only narrows a window.
 */
export const moment = z.iso
  .datetime({ offset: true })
  .max(40)
  .refine(isStorable, 'must have an offset up to 15:59 and a year from 1 to 9999')
  .meta({ examples: ['2026-11-01T00:00:00Z'] });

function isStorable(text: string): boolean {
  const year = new Date(text).getUTCFullYear();
  return year >= 1 && year <= 9999 && !/[+-](1[6-9]|2\d):?\d\d$/.test(text);
}

/**
 * An integer of a query, documented as an integer. Its text is parsed strictly: digits only, so `5x` and `1e1` are
 * refused.
 */
export function queryInteger(minimum: number, maximum: number) {
  return z
    .string()
    .refine((text) => /^\d{1,9}$/.test(text), `must be a whole number from ${minimum} to ${maximum}`)
    .transform(Number)
    .pipe(range(z.int(), minimum, maximum))
    .meta({ type: 'integer', minimum, maximum });
}

/** Max entries of a page. */
export function pageSize(upperBound: number, otherwise: number) {
  return queryInteger(1, upperBound)
    .default(otherwise)
    .meta({ type: 'integer', minimum: 1, maximum: upperBound, description: `${otherwise} when left out.` });
}

export const pageQuery = {
  limit: pageSize(100, 20),
  cursor: z.string().min(1).max(500).optional(),
};

export const pageMeta = z.strictObject({ next_cursor: z.string().nullable(), has_more: z.boolean() });

export const data = <T extends z.ZodType>(record: T) => z.strictObject({ data: record });

export const page = <T extends z.ZodType>(record: T) =>
  z.strictObject({ data: z.array(record), meta: pageMeta });

export const deleted = data(z.strictObject({ id: z.string(), deleted: z.literal(true) }));

export const spaceParams = z.strictObject({ space_id: uuid });

/** A number whose refusal names the whole range. */
export function range(schema: z.ZodNumber, minLength: number, upperBound: number): z.ZodNumber {
  const error = `must be ${minLength} to ${upperBound}`;
  return schema.min(minLength, { error }).max(upperBound, { error });
}

/** 1 to 255 visible ASCII characters. */
export const idempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/, 'must be 1 to 255 visible ASCII characters, such as a UUID')
  .meta({ examples: ['01a1fe56-c459-7491-a31d-093e3c1f9c54'] });

/** An amount of money of a request, in US dollars. */
export const usd = z
  .string()
  .regex(/^\d{1,6}(\.\d{1,6})?$/, 'must be a text of at most 6 digits, and 6 behind a point, such as "2.50"')
  .meta({ examples: ['2.50'] });

/** What something has cost, in US dollars. */
export const cost = z
  .string()
  .regex(/^\d+\.\d{6}$/)
  .meta({ examples: ['0.004250'] });

/** Of a function of the caller, or of a schema. */
export const functionName = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 of A-Z, a-z, 0-9, _ -, such as get_weather')
  .meta({ examples: ['get_weather'] });

/** A slug of at most so many characters, with an example. */
export const slug = (pattern: RegExp, maxLength: number, example: string) =>
  z
    .string()
    .regex(
      pattern,
      `must be 1 to ${maxLength} lower-case letters, digits and inner hyphens, such as ${example}`,
    )
    .meta({ examples: [example] });

const errorType = z.enum([
  'invalid_request_error',
  'authentication_error',
  'permission_error',
  'not_found_error',
  'conflict_error',
  'rate_limit_error',
  'server_error',
  'upstream_error',
  'unavailable_error',
]);

const errorMembers = {
  code: z.string(),
  param: z.string().nullable(),
  request_id: z.string(),
  missing_permission: z.string().optional(),
  required_permissions: z.array(z.string()).optional(),
  scope: z
    .strictObject({ type: z.enum(['tenant', 'space', 'collection', 'project']), id: z.string() })
    .optional(),
  errors: z
    .array(
      z.strictObject({
        in: z.enum(['body', 'query', 'path', 'header']),
        pointer: z.string(),
        code: z.string(),
        message: z.string(),
      }),
    )
    .optional(),
  retry_after: z.number().optional(),
  call_ids: z.array(z.string()).optional(),
  response_id: z.string().optional(),
  definitions: z
    .array(z.strictObject({ name: z.string(), schema_hash: z.string(), difference: z.string() }))
    .optional(),
  used_by: z
    .array(
      z.strictObject({
        type: z.enum(['mcp_server', 'model', 'connector']),
        id: z.string(),
        name: z.string(),
      }),
    )
    .optional(),
};

export const errorBody = z
  .strictObject({ error: z.strictObject({ type: errorType, message: z.string(), ...errorMembers }) })
  .meta({ id: 'Error' });

/** The same error as RFC 9457 problem details, for callers that prefer `application/problem+json`. */
export const problemBody = z
  .strictObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    class: errorType,
    ...errorMembers,
  })
  .meta({ id: 'Problem' });

/** Errors of every operation, written by the error handler and not by the route. */
export const errorResponses = { '4xx': errorBody, '5xx': errorBody };
