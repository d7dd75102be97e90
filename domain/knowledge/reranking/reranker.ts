import type { RerankingModel } from './reranking-model.entity.ts';

/** Passages of one call at most. */
export const maxPassages = 100;

export interface Reranked {
  /** 0 to 1, one for each passage, in the order in which they were given. */
  scores: number[];
  tokens: number;
  /** Searches that the vendor bills. */
  searches: number;
}

/** The port to a reranking model. */
export interface Reranker {
  /** Judges how well each passage answers the question. @throws `RerankingFailure`, the signal's reason */
  rerank(question: string, passages: readonly string[], signal: AbortSignal): Promise<Reranked>;
}

/** The rerankers of a process. */
export interface Rerankers {
  of(model: RerankingModel): Reranker;
}

export type RerankingFailureCode =
  /** Not reachable, late, or not asked since it, or the share of the tenant, is busy. */
  | 'unavailable'
  /** The key, the model's name, the address or the request is refused. */
  | 'refused'
  /** The answer is not one score in the model's scale for each passage. */
  | 'malformed';

/** The model did not judge. The message holds nothing of the texts, and nothing of a vendor's answer. */
export class RerankingFailure extends Error {
  readonly code: RerankingFailureCode;

  constructor(code: RerankingFailureCode) {
    super(`The reranking model did not answer as expected: ${code}.`);
    this.name = 'RerankingFailure';
    this.code = code;
  }
}
