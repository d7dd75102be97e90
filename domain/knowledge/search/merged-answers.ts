import { wordsOf } from './fold-passages.ts';
import type { Passage } from './passage.ts';
import { keywordReasons, type KeywordReason } from './question-vector.ts';
import type { KnowledgeAnswer } from './search-knowledge.ts';

/** The answers of several spaces as one; it holds no more passages than it will have. */
export class MergedAnswers {
  readonly #query: { limit: number; alpha: number };
  readonly #modes = new Set<KnowledgeAnswer['mode']>();
  readonly #reasons = new Set<KeywordReason>();
  readonly #generations = new Set<string | null>();
  #passages: Passage[] = [];

  constructor(query: { limit: number; alpha: number }) {
    this.#query = query;
  }

  add({ passages, mode, reason, generation }: KnowledgeAnswer): void {
    this.#passages = withoutCopies([...this.#passages, ...passages].sort(byScore)).slice(
      0,
      this.#query.limit,
    );
    this.#modes.add(mode);
    this.#generations.add(generation);
    if (reason !== null) {
      this.#reasons.add(reason);
    }
  }

  toAnswer(): KnowledgeAnswer {
    const [generation = null] = this.#generations;
    return {
      passages: this.#passages,
      mode: this.#modes.has('hybrid') ? 'hybrid' : 'keyword',
      reason: this.#reason(),
      generation: this.#generations.size === 1 ? generation : null,
    };
  }

  #reason(): KeywordReason | null {
    if (this.#modes.size === 0) {
      return this.#query.alpha === 0 ? 'alpha_is_zero' : 'not_embedded';
    }
    // In their order, so that an answer does not depend on which space was faster.
    return keywordReasons.find((reason) => this.#reasons.has(reason)) ?? null;
  }
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

/** Best first; equal scores by their place, so that an answer does not depend on which space was faster. */
function byScore(a: Passage, b: Passage): number {
  return (
    b.score - a.score ||
    (a.documentId < b.documentId ? -1 : a.documentId > b.documentId ? 1 : a.start - b.start)
  );
}
