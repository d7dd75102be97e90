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
 * Joins hits that follow each other under one heading into one passage with the best score, and leaves out passages
 * whose text a better one has. @param passages best first
 */
export function foldPassages(passages: readonly PlacedPassage[], limit: number): Passage[] {
  const seen = new Set<string>();
  const runs: Run[] = [];
  for (const passage of passages) {
    const words = passage.text.replaceAll(/\s+/g, ' ');
    if (!seen.has(words)) {
      seen.add(words);
      const neighbour = runs.find((run) => continues(run, passage));
      if (neighbour === undefined) {
        runs.push({ passage, first: passage.position, last: passage.position });
      } else {
        join(neighbour, passage);
      }
    }
  }
  return runs.slice(0, limit).map(({ passage }) => passage);
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
