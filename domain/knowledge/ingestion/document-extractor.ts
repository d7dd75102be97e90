import type { DocumentMediaType } from '#domain/knowledge/collections/document-status.ts';

/** A stretch of the text under one trail of headings. */
export interface Section {
  /** The headings above it, outermost first, joined by ` › `. */
  heading: string | null;
  /** UTF-16 offsets in the extracted text, without the heading line itself. */
  start: number;
  end: number;
}

export interface ExtractedText {
  text: string;
  /** In order and apart from each other; they need not cover the whole text. */
  sections: Section[];
}

/** A passage of the text. */
export interface Chunk {
  heading: string | null;
  text: string;
  /** UTF-16 offsets: `extracted.text.slice(start, end)` is `text`. */
  start: number;
  end: number;
}

export interface ExtractedDocument extends ExtractedText {
  chunks: Chunk[];
}

export interface DocumentContent {
  mediaType: DocumentMediaType;
  /** The original bytes. */
  content: Uint8Array;
}

export interface DocumentSource {
  /** Tenants take turns. */
  tenantId: string;
  /** Read when it is the document's turn: those that wait are not held in memory. */
  read(): Promise<DocumentContent>;
}

/** The port to readers of document formats. Reading and cutting leave the event loop free. */
export interface DocumentExtractor {
  /** @throws `ExtractionFailure` when this document will never be readable, `ExtractorBusy` */
  extract(source: DocumentSource, signal: AbortSignal): Promise<ExtractedDocument>;
}

/** The document's own fault: trying again does not help. Says nothing of its content. */
export class ExtractionFailure extends Error {
  constructor(reason: 'unreadable' | 'too_slow' | 'too_large') {
    super(`The document cannot be extracted: ${reason}.`);
    this.name = 'ExtractionFailure';
  }
}

/** Enough documents of the tenant wait here already: this one is better tried elsewhere, or later. */
export class ExtractorBusy extends Error {
  constructor() {
    super('Too many documents of this tenant are being extracted.');
    this.name = 'ExtractorBusy';
  }
}
