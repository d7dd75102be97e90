import { LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { Collection } from '#domain/knowledge/collections/collection.entity.ts';
import { Document } from '#domain/knowledge/collections/document.entity.ts';
import { shareCollection } from '#domain/knowledge/collections/share-collection.ts';
import type { Chunk } from './document-extractor.ts';

/** The passages of a reading. */
export interface StoredPassages {
  documentId: string;
  generation: number;
}

export interface Reading {
  documentId: string;
  /** Identifies the reading: a repeat under the same id stores nothing. */
  readingId: string;
  chunks: readonly Chunk[];
}

/**
 * Replaces a document's passages by those of a new reading: from the commit on, searches find these by keyword. The
 * replaced ones lose their vectors at once, and the purge deletes them.
 * @returns the document; null when it is no longer being read
 */
export async function storePassages(em: EntityManager, reading: Reading): Promise<Document | null> {
  const document = await lockForReading(em, reading.documentId);
  if (document?.status !== 'processing') {
    return null;
  }
  if (document.ingestedBy === reading.readingId) {
    return document;
  }
  const generation = document.nextGeneration();
  // A reading of the version before may have been interrupted between its passages and its end.
  await em.execute('delete from chunks where tenant_id = ? and document_id = ? and generation >= ?', [
    document.tenantId,
    document.id,
    generation,
  ]);
  await insertChunks(em, document, reading.chunks);
  document.replacePassages(reading.readingId, reading.chunks.length, await databaseNow(em));
  await em.flush();
  await em.execute('delete from chunk_vectors where tenant_id = ? and document_id = ? and generation < ?', [
    document.tenantId,
    document.id,
    generation,
  ]);
  return document;
}

/** Locks the collection, then the document: the passages refer to both. */
export async function lockForReading(em: EntityManager, documentId: string): Promise<Document | null> {
  const known = await em.findOne(Document, { id: documentId }, { fields: ['collectionId'] });
  if (known === null || !(await shareCollection(em, known.collectionId))) {
    return null;
  }
  return em.findOne(Document, { id: documentId }, { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true });
}

async function insertChunks(em: EntityManager, document: Document, chunks: readonly Chunk[]): Promise<void> {
  const collection = await em.findOneOrFail(Collection, { id: document.collectionId });
  const rows = chunks.map((chunk, position) => ({ position, ...chunk }));
  await em.execute(
    `insert into chunks (tenant_id, document_id, generation, position, collection_id, heading, text, start_offset, end_offset, page, anchor, config)
     select ?, ?, ?, position, ?, heading, text, start, "end", page, anchor, ?::regconfig
     from jsonb_to_recordset(?::jsonb)
       as r(position integer, heading text, text text, start integer, "end" integer, page integer, anchor text)`,
    [
      document.tenantId,
      document.id,
      document.nextGeneration(),
      collection.id,
      collection.textSearchConfig,
      JSON.stringify(rows),
    ],
  );
}
