import type { FastifyReply, FastifyRequest } from 'fastify';
import type { GatewayDependencies } from '#api/compose.ts';
import type { CreateResponseBody } from '#api/contract/responses.ts';
import { isDatabaseUnavailable } from '#domain/persistence/is-unavailable.ts';
import { DomainError } from '#domain/kernel/errors.ts';
import { newResponseId } from '#domain/kernel/ids.ts';
import { createResponse, type Created } from '#domain/responses/create-response.ts';
import type { CreateResponseInput } from '#domain/responses/create-input.ts';
import { findRequest } from '#domain/responses/find-request.ts';
import type { ResponseRecord } from '#domain/responses/response-record.ts';
import { isTerminal } from '#domain/responses/response-status.ts';
import { toCreateInput } from './create-input.ts';
import { attach, deliverStream, locationOf, read, waitForEnd, type Delivery } from './deliver.ts';
import { invalidCursor, parseLastEventId } from './sse-cursor.ts';

export interface CreateCall {
  params: { space_id: string };
  headers: {
    'idempotency-key'?: string | undefined;
    'last-event-id'?: string | undefined;
    prefer?: string | undefined;
  };
  body: CreateResponseBody;
}

/** `POST …/responses`: accepts, and answers in the form that was asked for. */
export async function handleCreate(
  deps: GatewayDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<{ data: ResponseRecord } | undefined> {
  const { params, headers, body } = request as FastifyRequest & CreateCall;
  const spaceId = params.space_id;
  const input = toCreateInput({
    spaceId,
    body,
    headerKey: headers['idempotency-key'],
    scope: `POST /v1/spaces/${spaceId}/responses`,
  });
  if (body.stream) {
    deps.streamPlaces.refuseMore(request.identity);
  }
  const cursor = headers['last-event-id'];
  const known = cursor === undefined ? null : await resume(deps, request, input, cursor);
  const created = known ?? (await accept(deps, request, input));
  const delivery = { spaceId, responseId: created.responseId };
  if (created.replayed) {
    reply.header('Idempotent-Replayed', 'true');
  }
  if (body.stream) {
    await stream(deps, request, reply, { ...created, ...delivery });
    return undefined;
  }
  reply.header('Location', locationOf(request, delivery));
  const seconds = waitSeconds(headers.prefer);
  if (seconds === null) {
    const record = created.record ?? (await read(deps, request, delivery)).record;
    reply.status(created.replayed ? 200 : 202);
    return { data: record };
  }
  const record = await waited(deps, request, { ...delivery, seconds, reply, accepted: created.record });
  reply.header('Preference-Applied', `wait=${seconds}`);
  reply.status(created.replayed || isTerminal(record.status) ? 200 : 202);
  return { data: record };
}

/** A response that was just accepted is streamed without another look: from here on nothing may refuse it. */
async function stream(
  deps: GatewayDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  created: Accepted & { spaceId: string },
): Promise<void> {
  if (created.replayed) {
    await deliverStream(deps, request, reply, { ...created, cursor: 'Last-Event-ID' });
  } else {
    const expiresInMs = deps.config.RESPONSE_RETENTION_SECONDS * 1_000;
    attach(deps, request, reply, { ...created, expiresInMs });
  }
}

/** Once accepted, trouble with the database shortens the wait and never turns into an error. */
async function waited(
  deps: GatewayDependencies,
  request: FastifyRequest,
  wait: Parameters<typeof waitForEnd>[2] & { accepted: ResponseRecord | null },
): Promise<ResponseRecord> {
  try {
    return (await waitForEnd(deps, request, wait)).record;
  } catch (error) {
    if (wait.accepted !== null && isDatabaseUnavailable(error)) {
      return wait.accepted;
    }
    throw error;
  }
}

interface Accepted {
  responseId: string;
  record: ResponseRecord | null;
  replayed: boolean;
  /** Where the stream is to begin behind. */
  after: number;
}

/** A re-post with a cursor is never a new run: it attaches to the response that the cursor or the key names. */
async function resume(
  deps: GatewayDependencies,
  request: FastifyRequest,
  input: CreateResponseInput,
  cursor: string,
): Promise<Accepted> {
  const { responseId, n } = parseLastEventId(cursor);
  const found = await request.inContext(input.spaceId, (ctx) => findRequest(ctx, input, responseId));
  if (found !== null) {
    return { responseId: found, record: null, replayed: true, after: n };
  }
  if (responseId === null) {
    const message = 'A bare cursor needs the Idempotency-Key of its response.';
    throw new DomainError('cursor_without_response', message, { param: 'Last-Event-ID' });
  }
  // An entitled caller learns that the response expired or was deleted; whatever else exists has another body.
  await refuseGone(deps, request, { spaceId: input.spaceId, responseId });
  throw invalidCursor();
}

async function refuseGone(
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
    retentionSeconds: deps.config.RESPONSE_RETENTION_SECONDS,
  };
  let created: Created;
  try {
    created = await request.inContext(input.spaceId, (ctx) =>
      createResponse(ctx, input, { responseId, limits }),
    );
  } catch (error) {
    return resolveDoubt(deps, request, { spaceId: input.spaceId, responseId, error });
  }
  return created.kind === 'created'
    ? { responseId, record: created.record, replayed: false, after: -1 }
    : { responseId: created.responseId, record: null, replayed: true, after: -1 };
}

/** The commit's answer was lost: whether the response exists is asked on another connection. */
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
    return { responseId: doubt.responseId, record, replayed: false, after: -1 };
  } catch {
    throw new DomainError('engine_unavailable', 'The response could not be accepted; try again.', {
      retryAfter: 1,
    });
  }
}

/** `Prefer: wait=<seconds>`, at most 60; null when it was not asked for. */
function waitSeconds(prefer: string | undefined): number | null {
  const match = /(?:^|[,;\s])wait=(\d{1,4})(?:$|[,;\s])/.exec(prefer ?? '');
  return match === null ? null : Math.min(Number(match[1]), 60);
}
