import type { Passage, PlacedPassage } from './passage.ts';

/** Max passages that become one. */
const maxJoined = 4;

/** A run of neighbours. */
interface Run {
  passage: PlacedPassage;
  first: number;
  last: number;
}

/**
 * Passages of an answer, collected best first: hits that follow each other under one heading become one passage with the
 * best score, and a text that a better passage has is left out.
 */
export class FoldedPassages {
  readonly #limit: number;
  readonly #seen = new Set<string>();
  readonly #runs: Run[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  get isFull(): boolean {
    return this.#runs.length >= this.#limit;
  }

  add(passage: PlacedPassage): void {
    const words = wordsOf(passage);
    if (this.#seen.has(words)) {
      return;
    }
    this.#seen.add(words);
    const neighbour = this.#runs.find((run) => continues(run, passage));
    if (neighbour !== undefined) {
      join(neighbour, passage);
    } else if (!this.isFull) {
      this.#runs.push({ passage, first: passage.position, last: passage.position });
    }
  }

  toPassages(): Passage[] {
    return this.#runs.map(({ passage }) => passage);
  }
}

/** Equal for copies of a text. */
export function wordsOf({ text }: Pick<Passage, 'text'>): string {
  return text.replaceAll(/\s+/g, ' ');
}

function continues({ passage, first, last }: Run, next: PlacedPassage): boolean {
  return (
    next.documentId === passage.documentId &&
    next.heading === passage.heading &&
    next.page === passage.page &&
    last - first + 1 < maxJoined &&
    (next.position === first - 1 || next.position === last + 1)
  );
}

function join(run: Run, next: PlacedPassage): void {
  const isBefore = next.position < run.first;
  const [earlier, later] = isBefore ? [next, run.passage] : [run.passage, next];
  run.passage = {
    ...run.passage,
    text: `${earlier.text}\n${later.text}`,
    anchor: earlier.anchor,
    start: earlier.start,
    end: later.end,
    coverage: Math.max(run.passage.coverage, next.coverage),
  };
  run.first = Math.min(run.first, next.position);
  run.last = Math.max(run.last, next.position);
}
