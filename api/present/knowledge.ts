import type { CollectionRecord, CountedCollectionRecord, DocumentRecord } from '#api/contract/knowledge.ts';
import type { Collection } from '#domain/knowledge/collections/collection.entity.ts';
import type { CountedCollection } from '#domain/knowledge/collections/read-collection.ts';
import type { Document } from '#domain/knowledge/collections/document.entity.ts';

export function presentCollection(collection: Collection): CollectionRecord {
  return {
    id: collection.id,
    space_id: collection.spaceId,
    name: collection.name,
    description: collection.description ?? null,
    text_search_config: collection.textSearchConfig,
    enforce_source_readers: collection.enforceSourceReaders,
    created_by: collection.createdBy,
    created_at: collection.createdAt.toISOString(),
    updated_at: collection.updatedAt.toISOString(),
  };
}

export function presentCounted({ collection, statistics }: CountedCollection): CountedCollectionRecord {
  const { documents, chunks, bytes, complete, languageChange } = statistics;
  const total = Object.values(documents).reduce((sum, each) => sum + each, 0);
  return {
    ...presentCollection(collection),
    statistics: {
      documents: { total, ...documents },
      chunks,
      bytes,
      complete,
      language_change: languageChange && {
        former: languageChange.former,
        chunks_done: languageChange.chunksDone,
        chunks_total: languageChange.chunksTotal,
        started_at: languageChange.startedAt.toISOString(),
      },
    },
  };
}

/** Without the content: the record describes the result of the ingestion. */
export function presentDocument(document: Document): DocumentRecord {
  return {
    id: document.id,
    collection_id: document.collectionId,
    filename: document.filename,
    media_type: document.mediaType,
    status: document.status,
    failure_code: document.failureCode ?? null,
    byte_size: document.byteSize,
    chunk_count: document.chunkCount,
    embedded_count: document.embeddedCount,
    embedding_error: document.embeddingError ?? null,
    content_hash: document.contentHash,
    metadata: document.metadata,
    created_by: document.createdBy,
    created_at: document.createdAt.toISOString(),
    updated_at: document.updatedAt.toISOString(),
  };
}
