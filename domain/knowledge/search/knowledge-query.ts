import type { Collection } from '#domain/knowledge/collections/collection.entity.ts';
import type { DocumentFilter } from './document-filter.ts';

export interface KnowledgeQuery {
  spaceId: string;
  /** null: every collection of the space. */
  collectionIds: string[] | null;
  query: string;
  /** Max passages, at least 1. */
  limit: number;
  /** Weight of the vector search against the keyword search, 0 to 1. */
  alpha: number;
  /** Whether the space's reranking model orders the passages. Omitted: as the space has chosen. */
  rerank?: boolean;
  /** Omitted: every document. */
  filter?: DocumentFilter;
}

/** What both searches search. */
export interface Searched {
  collections: Collection[];
  query: KnowledgeQuery;
  principalId: string;
}
