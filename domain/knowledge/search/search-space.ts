import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import type { Embedders } from '#domain/knowledge/embeddings/embedder.ts';
import type { Rerankers } from '#domain/knowledge/reranking/reranker.ts';
import type { KnowledgeQuery } from './knowledge-query.ts';
import { searchKnowledge, type SpaceAnswer } from './search-knowledge.ts';

/** What a caller searches with. */
export interface CallerAccess {
  /** Of the caller. */
  principalId: string;
  /** Runs one step in a transaction, with the caller's current permissions in its tenant and in the space. */
  inContext: <T>(spaceId: string | null, work: (ctx: Context) => Promise<T>) => Promise<T>;
  /** Omitted: search is by keyword. */
  embedders?: Embedders | undefined;
  /** Omitted: no search is reranked. */
  rerankers?: Rerankers | undefined;
  signal: AbortSignal;
}

/**
 * Searches one space as the caller, whose permission is checked in each transaction: before the question is embedded,
 * again where passages are read, and once more after a model has reranked them.
 * @throws `missing_permission`, `space_not_found`, `collection_not_found`
 */
export async function searchSpace(
  { principalId, inContext, embedders, rerankers, signal }: CallerAccess,
  query: KnowledgeQuery,
): Promise<SpaceAnswer> {
  return searchKnowledge(
    {
      principalId,
      inTransaction: (work) =>
        inContext(query.spaceId, async (ctx) => {
          authorize(ctx.caller, 'knowledge.search');
          return work(ctx.em);
        }),
      embedders,
      rerankers,
      signal,
    },
    query,
  );
}
