import type { DocumentMediaType } from '#domain/knowledge/collections/document-status.ts';

/** A passage that a search found. */
export interface Passage {
  documentId: string;
  filename: string;
  collectionId: string;
  mediaType: DocumentMediaType;
  text: string;
  /** The headings above the text, outermost first, joined by ` › `. */
  heading: string | null;
  /** From 1; null where the format has no pages. */
  page: number | null;
  /** A place within the format, such as a sheet or a slide; null: none. */
  anchor: string | null;
  /** 0 to 1; the passages of an answer are in its order. Of a reranked search what the model says, else `searchScore`. */
  score: number;
  /** What the search alone makes of it, 0 to 1. */
  searchScore: number;
  /** How well it answers the question by the reranking model, 0 to 1; null: none was asked. */
  rerankScore: number | null;
  /** What each search made of it, 0 to 1; 0 if it did not find it. */
  keywordScore: number;
  vectorScore: number;
  /** Share of the question's weight that the passage contains, 0 to 1. */
  coverage: number;
  /** UTF-16 offsets in the document's extracted text. */
  start: number;
  end: number;
  attributes: Record<string, string>;
}

/** With its place in the document. */
export interface PlacedPassage extends Passage {
  position: number;
}
