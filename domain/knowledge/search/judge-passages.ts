import {
  RerankingFailure,
  type Reranked,
  type RerankingFailureCode,
} from '#domain/knowledge/reranking/reranker.ts';
import type { Passage } from './passage.ts';
import { isTimeout } from './question-vector.ts';
import type { RerankingReason, RerankingTarget } from './reranking-target.ts';

/** The order before is better than a late one. */
const patienceMs = 4_000;

const reasons: Record<RerankingFailureCode, RerankingReason> = {
  unavailable: 'reranker_unavailable',
  refused: 'reranker_refused',
  malformed: 'reranker_malformed',
};

/** Has passages judged by a model, as a reader sees them. No transaction is open meanwhile. */
export async function judgePassages(
  { reranker }: RerankingTarget,
  { question, passages, signal }: { question: string; passages: readonly Passage[]; signal: AbortSignal },
): Promise<Reranked | RerankingReason> {
  try {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]);
    return await reranker.rerank(question, passages.map(judgedText), limited);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof RerankingFailure) {
      return reasons[error.code];
    }
    if (isTimeout(error)) {
      return 'reranker_unavailable';
    }
    throw error;
  }
}

/** Its headings above it. */
export function judgedText({ heading, text }: Pick<Passage, 'heading' | 'text'>): string {
  return heading === null ? text : `${heading}\n${text}`;
}
