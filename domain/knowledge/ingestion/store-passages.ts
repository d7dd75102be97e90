import { LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { averageUuid } from '#domain/foundation/persistence/average-uuid.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { Collection } from '#domain/knowledge/collections/collection.entity.ts';
import { Document } from '#domain/knowledge/collections/document.entity.ts';
import { shareCollection } from '#domain/knowledge/collections/share-collection.ts';
import type { Chunk } from './document-extractor.ts';
import { insertPassages } from './insert-passages.ts';
import { replaceVectors } from './replace-vectors.ts';

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
 * Replaces a document's passages by those of a new reading: from the commit on, searches find these by keyword, and
 * those that are as before by meaning. The replaced ones lose their vectors at once, and the purge deletes them.
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
  await em.execute(
    `delete from chunks where tenant_id = ${averageUuid} and document_id = ${averageUuid} and generation >= ?`,
    [document.tenantId, document.id, generation],
  );
  const collection = await em.findOneOrFail(Collection, { id: document.collectionId });
  await insertPassages(em, collection, [{ documentId: document.id, generation, chunks: reading.chunks }]);
  document.replacePassages(reading.readingId, reading.chunks.length, await databaseNow(em));
  await em.flush();
  await replaceVectors(em, document.tenantId, [document.id]);
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
