import { LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { Collection } from '#domain/knowledge/collections/collection.entity.ts';
import { Document } from '#domain/knowledge/collections/document.entity.ts';
import { shareCollection } from '#domain/knowledge/collections/share-collection.ts';
import type { Chunk } from './document-extractor.ts';

/** Passages of a reading; not searched before it is finished. */
export interface StoredPassages {
  documentId: string;
  generation: number;
}

/**
 * Stores the passages of a reading as the document's next generation, and replaces those of an interrupted reading.
 * @returns null when the document is no longer being read
 */
export async function storePassages(
  em: EntityManager,
  documentId: string,
  chunks: readonly Chunk[],
): Promise<StoredPassages | null> {
  const document = await lockForReading(em, documentId);
  if (document?.status !== 'processing') {
    return null;
  }
  const generation = document.nextGeneration();
  await em.execute('delete from chunks where tenant_id = ? and document_id = ? and generation = ?', [
    document.tenantId,
    documentId,
    generation,
  ]);
  if (chunks.length > 0) {
    await insertChunks(em, document, chunks);
  }
  return { documentId, generation };
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
    `insert into chunks (tenant_id, document_id, generation, position, collection_id, heading, text, start_offset, end_offset, config)
     select ?, ?, ?, position, ?, heading, text, start, "end", ?::regconfig
     from jsonb_to_recordset(?::jsonb) as r(position integer, heading text, text text, start integer, "end" integer)`,
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
