import type { FastifyReply, FastifyRequest } from 'fastify';
import type { GatewayDependencies } from '#api/compose.ts';
import { deliverStream, read, type Attachment } from './deliver.ts';
import { invalidCursor, parseLastEventId } from './sse-cursor.ts';

/** Query parameters of a read. */
export interface ReadQuery {
  stream?: 'true' | 'false' | undefined;
  starting_after?: number | undefined;
}

interface GetCall {
  params: { space_id: string; response_id: string };
  query: ReadQuery;
}

/** `GET …/responses/{id}`: the record, or its stream after the reader's cursor. */
export async function handleGet(
  deps: GatewayDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { params, query } = request as FastifyRequest & GetCall;
  const delivery = { spaceId: params.space_id, responseId: params.response_id };
  if (!wantsStream(request, query)) {
    const current = await read(deps, request, delivery);
    if (current.finished === null) {
      void reply.send({ data: current.record });
    } else {
      void reply.type('application/json; charset=utf-8').send(`{"data":${current.finished}}`);
    }
    return;
  }
  const cursor = cursorOfReader(request, query, delivery.responseId);
  await deliverStream(deps, request, reply, { ...delivery, ...cursor });
}

/** A HEAD request never attaches to a stream. */
export function wantsStream({ method, headers }: FastifyRequest, query: ReadQuery): boolean {
  const accepts = headers.accept?.includes('text/event-stream') ?? false;
  return method !== 'HEAD' && (query.stream === 'true' || (query.stream !== 'false' && accepts));
}

/** The reader's cursor; the header takes precedence over the query. @throws `invalid_cursor` */
export function cursorOfReader(
  request: FastifyRequest,
  query: ReadQuery,
  responseId: string,
): Pick<Attachment, 'after' | 'cursor'> {
  const header = request.headers['last-event-id'];
  return typeof header === 'string'
    ? { after: cursorOf(header, responseId), cursor: 'Last-Event-ID' }
    : { after: query.starting_after ?? -1, cursor: 'starting_after' };
}

function cursorOf(header: string, responseId: string): number {
  const cursor = parseLastEventId(header);
  if (cursor.responseId !== null && cursor.responseId !== responseId) {
    throw invalidCursor();
  }
  return cursor.n;
}
