import type { ListedDocument } from '#domain/knowledge/connectors/source.ts';
import type { KnownDocument } from './known-documents.ts';
import type { ReadContent } from './store-documents.ts';

/** What became of a listed document. */
export type Outcome =
  | { is: 'unchanged'; listed: ListedDocument; known: KnownDocument; version: string | null }
  | {
      is: 'stored';
      listed: ListedDocument;
      known: KnownDocument | null;
      version: string | null;
      read: ReadContent;
    }
  /** Nothing of it is searched. */
  | {
      is: 'skipped';
      listed: ListedDocument;
      known: KnownDocument | null;
      version: string | null;
      code: string;
    }
  /** It could not be fetched: what is stored of it stays. */
  | { is: 'failed'; listed: ListedDocument; known: KnownDocument | null; code: string; message: string };
