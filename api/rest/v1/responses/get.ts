import type { FastifyReply, FastifyRequest } from 'fastify';
import type { GatewayDependencies } from '#api/compose.ts';
import type { ResponseRecord } from '#domain/responses/response-record.ts';
import { deliverStream, read } from './deliver.ts';
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
  if (!wantsStream || request.method === 'HEAD') {
    return { data: (await read(deps, request, delivery)).record };
  }
  const header = request.headers['last-event-id'];
  await deliverStream(
    deps,
    request,
    reply,
    typeof header === 'string'
      ? { ...delivery, after: cursorOf(header, delivery.responseId), cursor: 'Last-Event-ID' }
      : { ...delivery, after: query.starting_after ?? -1, cursor: 'starting_after' },
  );
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
