import { z } from 'zod';

/** Shapes that every operation shares. Wire shapes live in this folder only. */

/** In lower case, as ids are compared. */
export const uuid = z.uuid().toLowerCase();

export const timestamp = z.iso.datetime();

export const pageQuery = {
  limit: z
    .string()
    .regex(/^\d{1,3}$/)
    .transform(Number)
    .pipe(z.int().min(1).max(100))
    .default(20),
  cursor: z.string().min(1).max(500).optional(),
};

export const pageMeta = z.strictObject({ next_cursor: z.string().nullable(), has_more: z.boolean() });

export const data = <T extends z.ZodType>(record: T) => z.strictObject({ data: record });

export const page = <T extends z.ZodType>(record: T) =>
  z.strictObject({ data: z.array(record), meta: pageMeta });

export const deleted = data(z.strictObject({ id: z.string(), deleted: z.literal(true) }));

export const spaceParams = z.strictObject({ space_id: uuid });

/** 1 to 255 visible ASCII characters. */
export const idempotencyKey = z.string().regex(/^[\x21-\x7e]{1,255}$/);

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
};

export const errorBody = z
  .strictObject({ error: z.strictObject({ type: errorType, message: z.string(), ...errorMembers }) })
  .meta({ id: 'Error' });

/** The same as RFC 9457 has it, for callers that prefer `application/problem+json`. */
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

/** Every operation may answer these; the error edge writes them, not the route. */
export const errorResponses = { '4xx': errorBody, '5xx': errorBody };
