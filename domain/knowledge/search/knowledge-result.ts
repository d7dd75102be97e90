import { withoutHidden } from '#domain/foundation/kernel/hidden-text.ts';
import type { Passage } from './passage.ts';
import type { KnowledgeAnswer } from './search-knowledge.ts';

/** A passage in the item of a search. */
export interface SearchResult {
  file_id: string;
  filename: string;
  score: number;
  text: string;
  page?: number;
  anchor?: string;
  attributes: Record<string, string>;
}

/** Max bytes of UTF-8 in a result for a model. */
const maxResultLength = 262_144;

/** What a passage must exceed on one side of the search, or by its reranking model, so that a question about an absent fact finds nothing. */
const relevance = {
  /** Share of the question's weight that the passage contains. */
  coverage: 0.5,
  /** 2.2 deviations from an unrelated passage. */
  vectorScore: 0.27,
  /** Of a reranking model: a cosine of 0.2, or a classifier that is rather for it than against. */
  rerankScore: 0.6,
};

function isRelevant({ coverage, vectorScore, rerankScore }: Passage): boolean {
  return (
    coverage > relevance.coverage ||
    vectorScore > relevance.vectorScore ||
    (rerankScore ?? 0) > relevance.rerankScore
  );
}

/** Drops passages that only share a word with the question. */
export function relevantPassages(answer: KnowledgeAnswer): Passage[] {
  return answer.passages.filter(isRelevant);
}

/**
 * A passage as a model and the readers of its searches receive it: hidden characters would hide personal data from the
 * recognisers, and instructions from people. Offsets stay those of the document.
 */
export function visiblePassage(passage: Passage): Passage {
  const { filename, heading, anchor, text, attributes } = passage;
  return {
    ...passage,
    filename: visible(filename),
    heading: heading === null ? null : visible(heading),
    anchor: anchor === null ? null : visible(anchor),
    text: visible(text),
    attributes: Object.fromEntries(Object.entries(attributes).map(([name, value]) => [name, visible(value)])),
  };
}

const visible = (text: string): string => withoutHidden(text).text;

export interface RenderedResults {
  passages: Passage[];
  mode: KnowledgeAnswer['mode'];
  reranking: KnowledgeAnswer['reranking'];
  /** The first passage gets the label after this one. */
  firstLabel: number;
}

/** The result in the model's form: JSON, with `truncated` when passages had to be left out. */
export function renderKnowledgeResult({ passages, mode, reranking, firstLabel }: RenderedResults): string {
  const order = orderOf(reranking);
  const results: object[] = [];
  let size = 0;
  for (const [index, passage] of passages.entries()) {
    const result = {
      label: `[${firstLabel + index + 1}]`,
      document_id: passage.documentId,
      filename: passage.filename,
      heading: passage.heading,
      ...placeOf(passage),
      text: passage.text,
      score: roundScore(passage.score),
    };
    size += Buffer.byteLength(JSON.stringify(result)) + 1;
    if (size > maxResultLength - 64) {
      return JSON.stringify({ results, mode, ...order, truncated: true });
    }
    results.push(result);
  }
  return JSON.stringify({ results, mode, ...order });
}

/** Only where the space has a reranking model that was to be asked. */
function orderOf({ modelId, reason }: KnowledgeAnswer['reranking']): { reranked?: boolean; reason?: string } {
  if (modelId !== null) {
    return { reranked: true };
  }
  return reason === null || ['not_chosen', 'not_requested', 'nothing_found'].includes(reason)
    ? {}
    : { reranked: false, reason };
}

export function toSearchResults(passages: Passage[]): SearchResult[] {
  return passages.map((passage) => ({
    file_id: passage.documentId,
    filename: passage.filename,
    score: roundScore(passage.score),
    text: passage.text,
    ...placeOf(passage),
    attributes: passage.attributes,
  }));
}

/** Only what is known: most formats have neither. */
function placeOf({ page, anchor }: Passage): { page?: number; anchor?: string } {
  return { ...(page === null ? {} : { page }), ...(anchor === null ? {} : { anchor }) };
}

/** Four decimals, within 0 to 1. */
export function roundScore(score: number): number {
  return Math.round(Math.min(1, Math.max(0, score)) * 10_000) / 10_000;
}
