import { RerankingFailure } from '#domain/knowledge/reranking/reranker.ts';
import type { ScoreScale } from '#domain/knowledge/reranking/reranking-model.entity.ts';
import type { RerankAnswer } from './rerank-dialects.ts';

/** Rounding of servers that calculate with few digits. */
const tolerance = 0.001;

/**
 * The scores of `count` passages, in their order, as 0 to 1.
 * @throws RerankingFailure unless each passage has one score, in the model's scale
 */
export function unitScores(results: RerankAnswer['results'], count: number, scale: ScoreScale): number[] {
  const scores = new Map(results.map(({ index, score }) => [index, toUnit(score, scale)]));
  const inOrder = Array.from({ length: count }, (_, at) => scores.get(at));
  if (results.length !== count || !inOrder.every((score) => score !== undefined)) {
    throw new RerankingFailure('malformed');
  }
  return inOrder;
}

function toUnit(score: number, scale: ScoreScale): number {
  switch (scale) {
    case 'probability':
      return within(score);
    case 'cosine':
      return within((1 + score) / 2);
    case 'logit':
      return within(1 / (1 + Math.exp(-score)));
  }
}

function within(score: number): number {
  if (!(score >= -tolerance && score <= 1 + tolerance)) {
    throw new RerankingFailure('malformed');
  }
  return Math.min(1, Math.max(0, score));
}
