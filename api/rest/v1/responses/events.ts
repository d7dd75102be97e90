import type { FastifyRequest } from 'fastify';
import type { GatewayDependencies } from '#api/compose.ts';
import { linesAfter } from '#api/sse/stream-hub.ts';
import { readStreams } from '#domain/responses/stream-store.ts';
import { read, requireInRange } from './deliver.ts';

/** A JSON page of the same events that the stream sends, for callers that cannot hold SSE. */
export async function handleEvents(
  deps: GatewayDependencies,
  request: FastifyRequest,
  query: { after?: number | undefined; limit: number },
) {
  const params = request.params as { space_id: string; response_id: string };
  const delivery = { spaceId: params.space_id, responseId: params.response_id };
  const current = await read(deps, request, delivery);
  const after = query.after ?? -1;
  requireInRange(current, after, 'after');
  const cursor = { tenantId: request.identity.tenantId, responseId: delivery.responseId, after };
  const [runs = []] = await readStreams(deps.database, [cursor], query.limit);
  const lines = linesAfter(runs, after).slice(0, query.limit);
  const lastN = after + lines.length;
  return {
    data: lines.map((line) => JSON.parse(line) as { type: string; sequence_number: number }),
    meta: { last_n: lastN, has_more: lastN < current.nextN - 1 },
  };
}
