import { wordsOf } from './fold-passages.ts';
import type { Passage } from './passage.ts';
import { keywordReasons, type KeywordReason } from './question-vector.ts';
import { rerankingReasons, type RerankingReason } from './reranking-target.ts';
import type { KnowledgeAnswer, SpaceAnswer } from './search-knowledge.ts';

/** The answers of several spaces as one; it holds no more passages than it will have. */
export class MergedAnswers {
  readonly #query: { limit: number; alpha: number };
  readonly #modes = new Set<KnowledgeAnswer['mode']>();
  readonly #reasons = new Set<KeywordReason>();
  readonly #generations = new Set<string | null>();
  readonly #rerankedBy = new Set<string>();
  readonly #rerankingReasons = new Set<RerankingReason>();
  #passages: Passage[] = [];

  constructor(query: { limit: number; alpha: number }) {
    this.#query = query;
  }

  add({ passages, places, mode, reason, generation, reranking }: SpaceAnswer): void {
    const all = [...this.#passages, ...comparable(passages, places)].sort(byScore);
    this.#passages = withoutCopies(all).slice(0, this.#query.limit);
    this.#modes.add(mode);
    this.#generations.add(generation);
    if (reason !== null) {
      this.#reasons.add(reason);
    }
    if (reranking.modelId !== null) {
      this.#rerankedBy.add(reranking.modelId);
    }
    if (reranking.reason !== null) {
      this.#rerankingReasons.add(reranking.reason);
    }
  }

  toAnswer(): KnowledgeAnswer {
    const [generation = null] = this.#generations;
    const [modelId = null] = this.#rerankedBy;
    return {
      passages: this.#passages,
      mode: this.#modes.has('hybrid') ? 'hybrid' : 'keyword',
      reason: this.#reason(),
      generation: this.#generations.size === 1 ? generation : null,
      reranking: {
        modelId: this.#rerankedBy.size === 1 ? modelId : null,
        reason: this.#modes.size === 0 ? 'nothing_found' : this.#rerankingReason(),
      },
    };
  }

  #rerankingReason(): RerankingReason | null {
    const reason = rerankingReasons.find((each) => this.#rerankingReasons.has(each));
    // Spaces without a passage say nothing about the order of the others.
    return reason === 'nothing_found' && this.#rerankedBy.size > 0 ? null : (reason ?? null);
  }

  #reason(): KeywordReason | null {
    if (this.#modes.size === 0) {
      return this.#query.alpha === 0 ? 'alpha_is_zero' : 'not_embedded';
    }
    // In their order, so that an answer does not depend on which space was faster.
    return keywordReasons.find((reason) => this.#reasons.has(reason)) ?? null;
  }
}

/**
 * Scores of different models, and of none, cannot be compared: a reranked answer keeps its order, and its places have the
 * scores of the search alone.
 */
function comparable(passages: readonly Passage[], places: readonly number[]): Passage[] {
  return passages.map((passage, index) => ({ ...passage, score: places[index] ?? 0 }));
}

/** @param passages best first */
function withoutCopies(passages: readonly Passage[]): Passage[] {
  const seen = new Set<string>();
  return passages.filter((passage) => {
    const words = wordsOf(passage);
    const isNew = !seen.has(words);
    seen.add(words);
    return isNew;
  });
}

/** Best first; equal scores by the model's, then by their place, so that an answer does not depend on which space was faster. */
function byScore(a: Passage, b: Passage): number {
  return (
    b.score - a.score ||
    (b.rerankScore ?? 0) - (a.rerankScore ?? 0) ||
    (a.documentId < b.documentId ? -1 : a.documentId > b.documentId ? 1 : a.start - b.start)
  );
}
