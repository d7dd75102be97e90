import type { DocumentMediaType } from '#domain/knowledge/collections/document-status.ts';

/** A range of the text under one trail of headings. */
export interface Section {
  /** The headings above it, outermost first, joined by ` › `. */
  heading: string | null;
  /** UTF-16 offsets in the extracted text, without the heading line itself. */
  start: number;
  end: number;
}

export interface ExtractedText {
  text: string;
  /** In order and disjoint; they need not cover the whole text. */
  sections: Section[];
}

/** A passage of the text. */
export interface Chunk {
  heading: string | null;
  text: string;
  /** UTF-16 offsets: `extracted.text.slice(start, end)` is `text`. */
  start: number;
  end: number;
  page: number | null;
  anchor: string | null;
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
  /** Called when it is the document's turn: waiting documents are not held in memory. */
  read(): Promise<DocumentContent>;
}

/** The port to readers of document formats. Reading and cutting do not block the event loop. */
export interface DocumentExtractor {
  /** @throws `ExtractionFailure` when the document is permanently unreadable, `ExtractorBusy` */
  extract(source: DocumentSource, signal: AbortSignal): Promise<ExtractedDocument>;
}

/** The document itself is at fault: a retry would not help. The message holds nothing of its content. */
export class ExtractionFailure extends Error {
  constructor(reason: 'unreadable' | 'too_slow' | 'too_large') {
    super(`The document cannot be extracted: ${reason}.`);
    this.name = 'ExtractionFailure';
  }
}

/** Too many documents of the tenant wait in this process: retry later, or in another worker. */
export class ExtractorBusy extends Error {
  constructor() {
    super('Too many documents of this tenant are being extracted.');
    this.name = 'ExtractorBusy';
  }
}
