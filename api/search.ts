import type { FastifyRequest } from 'fastify';
import type { Embedders } from '#domain/knowledge/embeddings/embedder.ts';
import type { Rerankers } from '#domain/knowledge/reranking/reranker.ts';
import type { KnowledgeQuery } from '#domain/knowledge/search/knowledge-query.ts';
import type { CallerAccess } from '#domain/knowledge/search/search-space.ts';
import type { GatewayDependencies } from './compose.ts';
import type { SearchBody } from './contract/search.ts';
import type { SearchPlace } from './limits/search-place.ts';
import { whileConnected } from './while-connected.ts';

/** Runs a search of the request's caller when it is its turn; it ends when the client disconnects. */
export async function searchAs<T>(
  deps: Pick<GatewayDependencies, 'embedders' | 'rerankers' | 'searchPlaces'>,
  request: FastifyRequest,
  search: (access: CallerAccess) => Promise<T>,
): Promise<T> {
  const { embedders, rerankers, searchPlaces } = deps;
  const { tenantId, principalId } = request.identity;
  return whileConnected(request, (signal) =>
    searchPlaces.run(tenantId, signal, (place) =>
      search({
        principalId,
        embedders: embedders && embeddingOutside(place, embedders),
        rerankers: rerankers && rerankingOutside(place, rerankers),
        signal,
        inContext: (spaceId, work) => place.inside(() => request.inContext(spaceId, work)),
      }),
    ),
  );
}

/** A vendor may take seconds. */
function embeddingOutside(place: SearchPlace, embedders: Embedders): Embedders {
  return {
    of: (model) => {
      const embedder = embedders.of(model);
      return {
        ...embedder,
        embedQuery: (text, signal) => place.outside(() => embedder.embedQuery(text, signal)),
      };
    },
  };
}

/** As with embedders. */
function rerankingOutside(place: SearchPlace, rerankers: Rerankers): Rerankers {
  return {
    of: (model) => {
      const reranker = rerankers.of(model);
      return { rerank: (...given) => place.outside(() => reranker.rerank(...given)) };
    },
  };
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
    ...(body.rerank === undefined ? {} : { rerank: body.rerank }),
    filter: {
      ...(metadata === undefined ? {} : { metadata }),
      ...(after === undefined ? {} : { createdFrom: new Date(after) }),
      ...(before === undefined ? {} : { createdBefore: new Date(before) }),
    },
  };
}
