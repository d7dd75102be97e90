import type { KnowledgeAnswer, Passage } from './search-knowledge.ts';

/** A passage in the item of a search. */
export interface SearchResult {
  file_id: string;
  filename: string;
  score: number;
  text: string;
  attributes: Record<string, string>;
}

/** Max bytes of UTF-8 in a result for a model. */
const maxResultLength = 262_144;

/**
 * A passage must contain more than half of the question's weight, so that a question about an absent fact finds
 * nothing.
 */
const minCoverage = 0.5;

/** Drops passages that only share a word with the question. */
export function relevantPassages(answer: KnowledgeAnswer): Passage[] {
  return answer.mode === 'hybrid'
    ? answer.passages
    : answer.passages.filter((passage) => passage.coverage > minCoverage);
}

export interface RenderedResults {
  passages: Passage[];
  mode: KnowledgeAnswer['mode'];
  /** The first passage gets the label after this one. */
  firstLabel: number;
}

/** The result in the model's form: JSON, with `truncated` when passages had to be left out. */
export function renderKnowledgeResult({ passages, mode, firstLabel }: RenderedResults): string {
  const results: object[] = [];
  let size = 0;
  for (const [index, passage] of passages.entries()) {
    const result = {
      label: `[${firstLabel + index + 1}]`,
      document_id: passage.documentId,
      filename: passage.filename,
      heading: passage.heading,
      text: passage.text,
      score: roundScore(passage.score),
    };
    size += Buffer.byteLength(JSON.stringify(result)) + 1;
    if (size > maxResultLength - 64) {
      return JSON.stringify({ results, mode, truncated: true });
    }
    results.push(result);
  }
  return JSON.stringify({ results, mode });
}

export function toSearchResults(passages: Passage[]): SearchResult[] {
  return passages.map((passage) => ({
    file_id: passage.documentId,
    filename: passage.filename,
    score: roundScore(passage.score),
    text: passage.text,
    attributes: passage.attributes,
  }));
}

function roundScore(score: number): number {
  return Math.round(score * 10_000) / 10_000;
}
