import type { EntityManager } from '@mikro-orm/postgresql';
import { spaceReranking } from '#domain/knowledge/reranking/read-space-reranking.ts';
import type { Reranker } from '#domain/knowledge/reranking/reranker.ts';
import type { RerankingModel } from '#domain/knowledge/reranking/reranking-model.entity.ts';
import type { KnowledgeQuery } from './knowledge-query.ts';
import type { QuestionAccess } from './question-vector.ts';

/** Why passages are not in the order of a reranking model; of several spaces, the first in this list is named. */
export const rerankingReasons = [
  /** The model did not answer, or not in time, or too many searches of the tenant wait for one. */
  'reranker_unavailable',
  /** The model's server refused the request, or the key. */
  'reranker_refused',
  /** The answer was not one score for each passage. */
  'reranker_malformed',
  /** The tenant has withdrawn the model that the space has chosen. */
  'model_disabled',
  /** The request, or else the space, does not want it. */
  'not_requested',
  /** The space has no reranking model. */
  'not_chosen',
  /** There was no passage. */
  'nothing_found',
] as const;
export type RerankingReason = (typeof rerankingReasons)[number];

/** The model that orders the passages of a search. */
export interface RerankingTarget {
  model: RerankingModel;
  reranker: Reranker;
}

/** By which model a search is reranked, or why by none. */
export async function rerankingTarget(
  em: EntityManager,
  { rerankers }: QuestionAccess,
  { spaceId, rerank }: Pick<KnowledgeQuery, 'spaceId' | 'rerank'>,
): Promise<RerankingTarget | RerankingReason> {
  const chosen = await spaceReranking(em, spaceId);
  if (chosen === null) {
    return 'not_chosen';
  }
  const { choice, model } = chosen;
  if (!(rerank ?? choice.byDefault)) {
    return 'not_requested';
  }
  if (model.disabledAt != null) {
    return 'model_disabled';
  }
  return rerankers === undefined ? 'reranker_unavailable' : { model, reranker: rerankers.of(model) };
}
