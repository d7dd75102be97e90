import type { FastifyRequest } from 'fastify';
import type { GatewayDependencies } from '#api/compose.ts';
import { openMapping } from '#api/restore.ts';
import { Restorer } from '#api/sse/restorer.ts';
import { linesAfter } from '#api/sse/lines-after.ts';
import { eventHead } from '#domain/responses/record/stream-events.ts';
import { readStreams } from '#domain/responses/store/stream-store.ts';
import { read, requireInRange } from './deliver.ts';

/** A JSON page of the stream's events, for clients that cannot read SSE. */
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
  const { tenantId } = request.identity;
  const { responseId } = delivery;
  const { reader } = current;
  const restorer = new Restorer(() => openMapping(deps, { tenantId, responseId }, reader));
  await restorer.prepare(lines);
  const lastN = after + lines.length;
  return {
    data: lines.map((line) => {
      const shown = restorer.line(line, eventHead(line).type);
      return JSON.parse(shown) as { type: string; sequence_number: number };
    }),
    meta: { last_n: lastN, has_more: lastN < current.nextN - 1 },
  };
}
