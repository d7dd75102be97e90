import type { FetchInput, Fetched, ListedDocument } from '#domain/knowledge/connectors/source.ts';
import type { Since } from './listing-state.ts';

/** Which page of the documents of a repository. */
export interface KindPlace {
  /** Null: its first. */
  paging: string | null;
  /** From when on changes are listed; null: everything is. */
  known: Since | null;
}

export interface KindPage {
  documents: ListedDocument[];
  /** Where the next page of the repository begins; null: this was its last one. */
  paging: string | null;
  headers: Headers | undefined;
  /** Where nothing has changed: what the next listing asks, so that it is the same question. */
  again?: Since;
}

/** Reads the documents that come from one list of a repository; a number is that of a document within it. */
export interface KindReader {
  check(repository: string, signal: AbortSignal): Promise<void>;
  page(repository: string, place: KindPlace, signal: AbortSignal): Promise<KindPage>;
  fetch(
    repository: string,
    number: number,
    input: Pick<FetchInput, 'version' | 'maxBytes'>,
    signal: AbortSignal,
  ): Promise<Fetched>;
  exists(repository: string, number: number, signal: AbortSignal): Promise<boolean>;
}
