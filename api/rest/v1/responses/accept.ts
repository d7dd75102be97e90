import type { FastifyRequest } from 'fastify';
import type { GatewayDependencies } from '#api/compose.ts';
import { withFoundNames } from '#api/found-names.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { newResponseId } from '#domain/foundation/kernel/ids.ts';
import { isDatabaseUnavailable } from '#domain/foundation/persistence/is-unavailable.ts';
import type { CreateResponseInput } from '#domain/responses/record/create-input.ts';
import { createResponse, type Created } from '#domain/responses/accept/create-response.ts';
import { findRequest } from '#domain/responses/accept/find-request.ts';
import type { ResponseRecord } from '#domain/responses/record/response-record.ts';
import type { ResponseRequest } from '#domain/responses/record/response-request.ts';
import { read, type Delivery } from './deliver.ts';
import { invalidCursor, parseLastEventId } from './sse-cursor.ts';

/**
 * Accepts a response, or finds the response of a repeated request: by its idempotency key, or by its cursor
 * (`Last-Event-ID`).
 */
export async function acceptOrResume(
  deps: GatewayDependencies,
  request: FastifyRequest,
  input: CreateResponseInput,
  cursor: string | undefined,
): Promise<Accepted> {
  const known = cursor === undefined ? null : await resume(deps, request, input, cursor);
  return known ?? accept(deps, request, input);
}

/** The response of a create request. */
export interface Accepted {
  responseId: string;
  /** The record of a new response; null for an existing one. */
  record: ResponseRecord | null;
  request: ResponseRequest | null;
  replayed: boolean;
  /** The stream begins after this sequence number. */
  after: number;
}

/**
 * A repeated POST with a cursor never starts a new run: it attaches to the response that the cursor or the key names.
 */
async function resume(
  deps: GatewayDependencies,
  request: FastifyRequest,
  input: CreateResponseInput,
  cursor: string,
): Promise<Accepted> {
  const { responseId, n } = parseLastEventId(cursor);
  const found = await request.inContext(input.spaceId, (ctx) => findRequest(ctx, input, responseId));
  if (found !== null) {
    return { responseId: found, record: null, request: null, replayed: true, after: n };
  }
  if (responseId === null) {
    const message = 'A bare cursor needs the Idempotency-Key of its response.';
    throw new DomainError('cursor_without_response', message, { param: 'Last-Event-ID' });
  }
  // An authorised caller is informed that the response expired or was deleted; any other existing response has another
  // body.
  await mapForeignKeyViolation(deps, request, { spaceId: input.spaceId, responseId });
  throw invalidCursor();
}

async function mapForeignKeyViolation(
  deps: GatewayDependencies,
  request: FastifyRequest,
  delivery: Delivery,
): Promise<void> {
  try {
    await read(deps, request, delivery);
  } catch (error) {
    if (
      error instanceof DomainError &&
      (error.code === 'response_expired' || error.code === 'response_deleted')
    ) {
      throw error;
    }
  }
}

async function accept(
  deps: GatewayDependencies,
  request: FastifyRequest,
  input: CreateResponseInput,
): Promise<Accepted> {
  const responseId = newResponseId();
  const limits = {
    maxActivePerSpace: deps.config.MAX_ACTIVE_RESPONSES_PER_SPACE,
    maxActivePerTenant: deps.config.MAX_ACTIVE_RESPONSES_PER_TENANT,
    retentionSeconds: deps.config.RESPONSE_RETENTION_SECONDS,
  };
  let created: Created;
  try {
    created = await withFoundNames(deps, request, input.spaceId, (ctx, names) =>
      createResponse(ctx, input, { responseId, limits, names }),
    );
  } catch (error) {
    return resolveDoubt(deps, request, { spaceId: input.spaceId, responseId, error });
  }
  return created.kind === 'created'
    ? { responseId, record: created.record, request: created.request, replayed: false, after: -1 }
    : { responseId: created.responseId, record: null, request: null, replayed: true, after: -1 };
}

/** The commit's answer was lost: checks on another connection whether the response exists. */
async function resolveDoubt(
  deps: GatewayDependencies,
  request: FastifyRequest,
  doubt: { spaceId: string; responseId: string; error: unknown },
): Promise<Accepted> {
  if (!isDatabaseUnavailable(doubt.error)) {
    throw doubt.error;
  }
  try {
    const { record } = await read(deps, request, doubt);
    return { responseId: doubt.responseId, record, request: null, replayed: false, after: -1 };
  } catch {
    throw new DomainError('engine_unavailable', 'The response could not be accepted; try again.', {
      retryAfter: 1,
    });
  }
}
