import type {
  DocumentFailureCode,
  DocumentMediaType,
} from '#domain/knowledge/collections/document-status.ts';

/** Where a passage stands in the original document, for citations. */
export interface Place {
  /** 1-based page of a PDF, or slide of a presentation; null where the format has neither. */
  page: number | null;
  /**
   * The place in terms of the format, outermost first, joined by ` › `; null if there is nothing more exact than the
   * whole document:
   * - `slide 3` of a presentation
   * - `Sales!A2:D40` of a spreadsheet: sheet and cells
   * - `row 17`, `rows 17-20` of a CSV file, counted from 1 with the header
   * - `line 4`, `lines 4-9` of JSON lines and source code; `$.items[3]` of JSON
   * - `cell 4` of a notebook, counted from 1
   * - `chapter The Beacon` of an EPUB
   * - `attachment report.pdf` of an e-mail or a PDF file, then the place within it
   * - `message 3` of a mailbox, then the place within it
   * - `heading Opening hours`: the innermost heading of any other text that has headings
   */
  anchor: string | null;
}

/** A range of the text under one trail of headings, in one place: pages, slides and sheets never share a section. */
export interface Section extends Place {
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

/** A passage of the text, within one section. */
export interface Chunk extends Place {
  heading: string | null;
  text: string;
  /** UTF-16 offsets: `extracted.text.slice(start, end)` is `text`. */
  start: number;
  end: number;
  page: number | null;
  anchor: string | null;
}

export interface ExtractedDocument extends ExtractedText {
  /** The format that the content really has. */
  mediaType: DocumentMediaType;
  chunks: Chunk[];
}

export interface DocumentContent {
  /** As declared or detected at the upload; decides among texts only. */
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

export type ExtractionFault = Exclude<DocumentFailureCode, 'empty_document'>;

/** The document itself is at fault: a retry would not help. The message holds nothing of its content. */
export class ExtractionFailure extends Error {
  readonly code: ExtractionFault;

  constructor(code: ExtractionFault) {
    super(`The document cannot be extracted: ${code}.`);
    this.name = 'ExtractionFailure';
    this.code = code;
  }
}

/** Too many documents of the tenant wait in this process: retry later, or in another worker. */
export class ExtractorBusy extends Error {
  constructor() {
    super('Too many documents of this tenant are being extracted.');
    this.name = 'ExtractorBusy';
  }
}
