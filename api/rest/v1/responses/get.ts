import type { FastifyReply, FastifyRequest } from 'fastify';
import type { GatewayDependencies } from '#api/compose.ts';
import { DomainError } from '#domain/kernel/errors.ts';
import type { ResponseRecord } from '#domain/responses/response-record.ts';
import { deliverStream, isAtEnd, locationOf, read } from './deliver.ts';
import { invalidCursor, parseLastEventId } from './sse-cursor.ts';

interface GetCall {
  params: { space_id: string; response_id: string };
  query: { stream?: 'true' | 'false' | undefined; starting_after?: number | undefined };
}

/** `GET …/responses/{id}`: the record, or its stream behind the reader's cursor. The header wins over the query. */
export async function handleGet(
  deps: GatewayDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<{ data: ResponseRecord } | undefined> {
  const { params, query } = request as FastifyRequest & GetCall;
  const delivery = { spaceId: params.space_id, responseId: params.response_id };
  const wantsStream = query.stream === 'true' || (query.stream !== 'false' && acceptsStream(request));
  const current = await read(deps, request, delivery);
  if (!wantsStream) {
    return { data: current.record };
  }
  const header = request.headers['last-event-id'];
  const after =
    typeof header === 'string' ? cursorOf(header, delivery.responseId) : (query.starting_after ?? -1);
  if (after >= current.nextN) {
    throw new DomainError('cursor_out_of_range', 'The cursor lies beyond the last event.', {
      param: typeof header === 'string' ? 'Last-Event-ID' : 'starting_after',
    });
  }
  if (isAtEnd(current, after)) {
    endOfStream(reply, { byHeader: typeof header === 'string', location: locationOf(request, delivery) });
    return undefined;
  }
  await deliverStream(deps, request, reply, { ...delivery, after });
  return undefined;
}

function acceptsStream(request: FastifyRequest): boolean {
  return request.headers.accept?.includes('text/event-stream') ?? false;
}

function cursorOf(header: string, responseId: string): number {
  const cursor = parseLastEventId(header);
  if (cursor.responseId !== null && cursor.responseId !== responseId) {
    throw invalidCursor();
  }
  return cursor.n;
}

/** 204 keeps a browser's EventSource from coming back; other clients cannot iterate an empty body. */
function endOfStream(reply: FastifyReply, options: { byHeader: boolean; location: string }): void {
  reply.hijack();
  const headers = { ...reply.getHeaders(), Location: options.location } as Record<string, string>;
  if (options.byHeader) {
    reply.raw.writeHead(204, headers).end();
  } else {
    reply.raw.writeHead(200, {
      ...headers,
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-cache, no-transform',
    });
    reply.raw.end('data: [DONE]\n\n');
  }
}
