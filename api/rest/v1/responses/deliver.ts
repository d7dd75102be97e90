import type { FastifyReply, FastifyRequest } from 'fastify';
import type { GatewayDependencies } from '#api/compose.ts';
import { streamResponse } from '#api/sse/response-stream.ts';
import { DomainError } from '#domain/kernel/errors.ts';
import { readResponse, type ReadResponse } from '#domain/responses/read-response.ts';
import { isTerminal } from '#domain/responses/response-status.ts';

export interface Delivery {
  spaceId: string;
  responseId: string;
}

/** The response as the caller may see it now. @throws not found, expired, deleted or a refusal */
export function read(
  deps: GatewayDependencies,
  request: FastifyRequest,
  { spaceId, responseId }: Delivery,
): Promise<ReadResponse> {
  return readResponse(deps.database, {
    identity: request.identity,
    requestId: request.id,
    spaceId,
    responseId,
  });
}

export interface Attachment extends Delivery {
  /** The last sequence number that the reader has; -1 for none. */
  after: number;
  /** Where the reader told it. */
  cursor: 'Last-Event-ID' | 'starting_after';
}

/** Attaches the caller to the response's stream. @throws `cursor_out_of_range`, `rate_limited` */
export async function deliverStream(
  deps: GatewayDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  attachment: Attachment,
): Promise<void> {
  const { after, cursor, responseId } = attachment;
  const current = await read(deps, request, attachment);
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
  deps.streamPlaces.refuseMore(request.identity);
  attach(deps, request, reply, { ...attachment, expiresInMs: current.expiresInMs });
}

/** Begins the stream of a response that the caller is known to be allowed to read. */
export function attach(
  deps: GatewayDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  attachment: Delivery & { after: number; expiresInMs: number },
): void {
  const { responseId, after, expiresInMs } = attachment;
  reply.header('Location', locationOf(request, attachment));
  let leave = () => {};
  streamResponse(request, reply, deps.hub, {
    responseId,
    after,
    expiresInMs,
    authorize: async () => {
      await request.reauthenticate();
      await read(deps, request, attachment);
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

/** Resolves with the response once it has ended, `seconds` are over, or this process is to stop. */
export async function waitForEnd(
  deps: GatewayDependencies,
  request: FastifyRequest,
  delivery: Delivery & { seconds: number; reply: FastifyReply },
): Promise<ReadResponse> {
  const first = await read(deps, request, delivery);
  if (isTerminal(first.record.status)) {
    return first;
  }
  const stop = new AbortController();
  const leave = () => stop.abort();
  const timer = setTimeout(leave, delivery.seconds * 1_000);
  delivery.reply.raw.once('close', leave);
  deps.openStreams.add(leave);
  const place = {
    tenantId: request.identity.tenantId,
    responseId: delivery.responseId,
    after: first.nextN - 1,
  };
  try {
    await deps.hub.untilEnd(place, stop.signal);
  } finally {
    clearTimeout(timer);
    deps.openStreams.delete(leave);
  }
  return read(deps, request, delivery);
}

/** The response's own address under the prefix that the request came by. */
export function locationOf(request: FastifyRequest, { spaceId, responseId }: Delivery): string {
  const prefix = request.url.startsWith('/api-proxy/') ? '/api-proxy' : '/api';
  return `${prefix}/v1/spaces/${spaceId}/responses/${responseId}`;
}
