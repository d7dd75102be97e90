import type { FastifyRequest } from 'fastify';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import type { KnowledgeQuery } from '#domain/knowledge/search/search-knowledge.ts';
import type { CallerAccess } from '#domain/knowledge/search/search-space.ts';
import type { GatewayDependencies } from './compose.ts';
import type { SearchBody } from './contract/search.ts';

/** Runs a search of the request's caller when it is its turn; it ends when the client disconnects. */
export async function searchAs<T>(
  { embedders, searchPlaces }: Pick<GatewayDependencies, 'embedders' | 'searchPlaces'>,
  request: FastifyRequest,
  search: (access: CallerAccess) => Promise<T>,
): Promise<T> {
  const { socket } = request.raw;
  const stop = new AbortController();
  const { signal } = stop;
  const leave = () => stop.abort(new DomainError('request_timeout', 'The client has disconnected.'));
  socket.once('close', leave);
  try {
    const { tenantId, principalId } = request.identity;
    return await searchPlaces.run(tenantId, signal, () =>
      search({
        principalId,
        embedders,
        signal,
        inContext: (spaceId, work) => request.inContext(spaceId, work),
      }),
    );
  } finally {
    socket.off('close', leave);
  }
}

/** The search that a body describes. */
export function toQuery(spaceId: string, body: SearchBody): KnowledgeQuery {
  const { metadata, created_after: after, created_before: before } = body.filters ?? {};
  return {
    spaceId,
    collectionIds: body.collection_ids ?? null,
    query: body.query,
    limit: body.max_results,
    alpha: body.alpha,
    filter: {
      ...(metadata === undefined ? {} : { metadata }),
      ...(after === undefined ? {} : { createdFrom: new Date(after) }),
      ...(before === undefined ? {} : { createdBefore: new Date(before) }),
    },
  };
}
