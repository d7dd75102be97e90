import type { DocumentMediaType } from '#domain/knowledge/collections/document-status.ts';
import type { Chunk, ExtractionFault, Section } from '#domain/knowledge/ingestion/document-extractor.ts';

/** To the process: a document. */
export interface ExtractionRequest {
  mediaType: DocumentMediaType;
  byteLength: number;
  /** Null: they follow on its standard input. */
  content: Uint8Array | null;
}

/** A passage without its text, which is a slice of the document's. */
export type ChunkRange = Omit<Chunk, 'text'>;

/** From the process, in this order, in small parts: taking them must not delay the parent's event loop. */
export type ExtractionMessage =
  | DocumentPart
  /** All parts of a document that are small enough together: most messages cost more than what they bring. */
  | { kind: 'parts'; parts: DocumentPart[] };

export type DocumentPart =
  | { kind: 'text'; text: string }
  | { kind: 'sections'; sections: Section[] }
  | { kind: 'chunks'; chunks: ChunkRange[] }
  /** `isSpent`: the process should read no further document. */
  | { kind: 'done'; mediaType: DocumentMediaType; isSpent: boolean }
  | { kind: 'failed'; code: ExtractionFault; isSpent: boolean };
