import type { FastifyReply, FastifyRequest } from 'fastify';
import type { GatewayDependencies } from '#api/compose.ts';
import { isOpenAiPath } from '#api/present/openai/errors.ts';
import { openMapping, readerNow, restoreRead, restoringReader } from '#api/restore.ts';
import { Restorer } from '#api/sse/restorer.ts';
import { streamResponse, type RenderEvent } from '#api/sse/response-stream.ts';
import { seesLess, type Reader } from '#domain/conversations/threads/show-restored.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { isDatabaseUnavailable } from '#domain/foundation/persistence/is-unavailable.ts';
import {
  readResponse,
  type ReadResponse,
  type ResponseAddress,
} from '#domain/responses/read/read-response.ts';
import type { ResponseRecord } from '#domain/responses/record/response-record.ts';
import { isTerminal } from '#domain/responses/record/response-status.ts';

export interface Delivery {
  spaceId: string;
  responseId: string;
}

/** The response with the caller's current permissions. @throws not found, expired, deleted or a refusal */
export async function read(
  deps: GatewayDependencies,
  request: FastifyRequest,
  delivery: Delivery,
): Promise<ReadResponse> {
  const current = await readResponse(deps.responseRows, addressOf(request, delivery));
  const { responseId } = delivery;
  return restoreRead(deps, { tenantId: request.identity.tenantId, responseId }, current);
}

function addressOf(
  { identity, id: requestId }: FastifyRequest,
  { spaceId, responseId }: Delivery,
): ResponseAddress {
  return { identity, requestId, spaceId, responseId };
}

export interface Attachment extends Delivery {
  /** The last sequence number that the reader has; -1 for none. */
  after: number;
  /** Source of the cursor. */
  cursor: 'Last-Event-ID' | 'starting_after';
  /** The response, where it was just read. */
  current?: ReadResponse | undefined;
  /** Renders an event for its surface; without it the stored event is sent. */
  render?: RenderEvent | undefined;
}

/** Attaches the caller to the response's stream. @throws `cursor_out_of_range`, `rate_limited` */
export async function deliverStream(
  deps: GatewayDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  attachment: Attachment,
): Promise<void> {
  const { after, cursor, responseId } = attachment;
  const current = attachment.current ?? (await read(deps, request, attachment));
  requireInRange(current, after, cursor);
  reply.header('Location', locationOf(request, attachment));
  if (isTerminal(current.record.status) && after === current.nextN - 1) {
    endOfStream(reply, cursor);
    return;
  }
  if (deps.draining.value) {
    throw new DomainError('draining', 'This process is stopping; try again.', { retryAfter: 1 });
  }
  if (deps.hub.countOf(responseId) >= deps.config.MAX_STREAMS_PER_RESPONSE) {
    throw new DomainError('rate_limited', 'Too many readers are attached to this response.', {
      retryAfter: 5,
    });
  }
  deps.streamPlaces.assertUnderLimit(request.identity);
  const { expiresInMs } = current;
  attach(deps, request, reply, { ...attachment, expiresInMs, reader: restoringReader(current) });
}

/** Starts the stream of a response that the caller is authorised to read. */
export function attach(
  deps: GatewayDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  attachment: Omit<Attachment, 'cursor'> & { expiresInMs: number; reader: Reader | null },
): void {
  const { spaceId, responseId, after, expiresInMs, render, reader } = attachment;
  const { tenantId } = request.identity;
  reply.header('Location', locationOf(request, attachment));
  // A stream may last an hour: the request body is stored, so it is released from memory.
  request.body = undefined;
  let leave = () => {};
  streamResponse(request, reply, deps.hub, {
    responseId,
    after,
    expiresInMs,
    maxMs: deps.config.MAX_STREAM_SECONDS * 1_000,
    render,
    restorer:
      reader === null ? null : new Restorer(() => openMapping(deps, { tenantId, responseId }, reader)),
    authorize: async () => {
      await request.reauthenticate();
      const now = await readerNow(deps, addressOf(request, { spaceId, responseId }), reader?.seesThread);
      if (reader !== null && seesLess(now, reader)) {
        throw new DomainError('missing_permission', 'Missing permission threads.read_pii in this space.');
      }
    },
    open: deps.openStreams,
    onOpen: () => {
      leave = deps.streamPlaces.enter(request.identity);
      deps.telemetry.streamOpened();
    },
    onClose: () => {
      leave();
      deps.telemetry.streamClosed();
    },
  });
}

/** A response that was just accepted is streamed without another read: nothing may refuse it any more. */
export async function deliverCreated(
  deps: GatewayDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  created: Omit<Attachment, 'cursor'> & { replayed: boolean; record: ResponseRecord | null },
): Promise<void> {
  if (created.replayed) {
    await deliverStream(deps, request, reply, { ...created, cursor: 'Last-Event-ID' });
  } else {
    const expiresInMs = deps.config.RESPONSE_RETENTION_SECONDS * 1_000;
    const { governance_applied: applied, thread_id: threadId } = created.record?.platform ?? {};
    const reader =
      applied?.pii === undefined ? null : await readerNow(deps, addressOf(request, created), threadId);
    attach(deps, request, reply, { ...created, expiresInMs, reader });
  }
}

/** @throws `cursor_out_of_range` */
export function requireInRange({ nextN }: ReadResponse, after: number, param: string): void {
  if (after >= nextN) {
    throw new DomainError('cursor_out_of_range', 'The cursor lies beyond the last event.', { param });
  }
}

/** 204 keeps a browser's EventSource from coming back; other clients cannot iterate an empty body. */
function endOfStream(reply: FastifyReply, cursor: Attachment['cursor']): void {
  reply.hijack();
  const headers = reply.getHeaders() as Record<string, string>;
  if (cursor === 'Last-Event-ID') {
    reply.raw.writeHead(204, headers).end();
    return;
  }
  reply.raw.writeHead(200, {
    ...headers,
    'Content-Type': 'text/event-stream',
    'Cache-Control': 'no-cache, no-transform',
  });
  reply.raw.end('data: [DONE]\n\n');
}

/**
 * Resolves with the response when it has ended, `seconds` are over, the client has disconnected, or this process stops.
 * @throws as `read` does, also when the credential was revoked meanwhile
 */
export async function waitForEnd(
  deps: GatewayDependencies,
  request: FastifyRequest,
  delivery: Delivery & { seconds: number; reply: FastifyReply },
): Promise<ReadResponse> {
  const first = await read(deps, request, delivery);
  if (isTerminal(first.record.status)) {
    return first;
  }
  // A wait may last an hour too.
  request.body = undefined;
  const stop = new AbortController();
  const leave = () => stop.abort();
  const timer = setTimeout(leave, delivery.seconds * 1_000);
  const { raw } = delivery.reply;
  raw.once('close', leave);
  deps.openStreams.add(leave);
  if (raw.destroyed) {
    // The client disconnected before the listener was added.
    leave();
  }
  const place = {
    tenantId: request.identity.tenantId,
    responseId: delivery.responseId,
    after: first.nextN - 1,
    recheck: () =>
      request.reauthenticate().catch((error: unknown) => {
        if (error instanceof DomainError) {
          leave();
        }
      }),
  };
  try {
    await deps.hub.untilEnd(place, stop.signal);
  } finally {
    clearTimeout(timer);
    deps.openStreams.delete(leave);
  }
  await request.reauthenticate();
  return read(deps, request, delivery);
}

/** Once accepted, a database fault shortens the wait and never becomes an error. */
export async function waitAccepted(
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

/** The response's address under the prefix and on the surface of the request. */
export function locationOf(request: FastifyRequest, { spaceId, responseId }: Delivery): string {
  const prefix = request.url.startsWith('/api-proxy/') ? '/api-proxy' : '/api';
  const surface = isOpenAiPath(request.url) ? '/openai' : '';
  return `${prefix}/v1/spaces/${spaceId}${surface}/responses/${responseId}`;
}
