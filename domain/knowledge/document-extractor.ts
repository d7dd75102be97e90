import type { DocumentMediaType } from '#domain/collections/document-status.ts';

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

export interface DocumentSource {
  mediaType: DocumentMediaType;
  content: string;
}

/** The port to readers of document formats. */
export interface DocumentExtractor {
  /** @throws ExtractionFailure when this document will never be readable. */
  extract(source: DocumentSource, signal: AbortSignal): Promise<ExtractedText>;
}

/** The document's own fault: trying again does not help. Says nothing of its content. */
export class ExtractionFailure extends Error {
  constructor(reason: 'unreadable' | 'too_slow' | 'too_large') {
    super(`The document cannot be extracted: ${reason}.`);
    this.name = 'ExtractionFailure';
  }
}
