import type { FetchInput, Fetched, ListedDocument } from '#domain/knowledge/connectors/source.ts';
import type { ListingState } from './listing-state.ts';

export interface KindPage {
  documents: ListedDocument[];
  /** Ids that are no longer documents of the scope. */
  gone: string[];
  /** Where the next page of the kind begins; null: this was its last one. */
  paging: string | null;
  headers: Headers;
}

/** Reads the documents of one kind; an id is what follows the kind in a reference. */
export interface KindReader {
  check(signal: AbortSignal): Promise<unknown>;
  page(state: ListingState, signal: AbortSignal): Promise<KindPage>;
  fetch(id: string, input: Pick<FetchInput, 'version' | 'maxBytes'>, signal: AbortSignal): Promise<Fetched>;
  exists(id: string, signal: AbortSignal): Promise<boolean>;
}
