import { LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { Collection } from '#domain/knowledge/collections/collection.entity.ts';
import { Document } from '#domain/knowledge/collections/document.entity.ts';
import type { DocumentFailureCode, DocumentStatus } from '#domain/knowledge/collections/document-status.ts';
import type { Chunk } from './document-extractor.ts';

export interface IngestionState {
  /** `gone`: deleted meanwhile. */
  status: DocumentStatus | 'gone';
  chunkCount: number;
  failureCode: DocumentFailureCode | null;
}

/**
 * Stores a document's passages and ends its processing, in one transaction. A document that has ended already
 * stays as it is, so that running twice changes nothing.
 */
export async function finishIngestion(
  em: EntityManager,
  documentId: string,
  outcome: { chunks: Chunk[] } | { failure: DocumentFailureCode },
): Promise<IngestionState> {
  // The collection before its document, like whoever deletes it: the passages refer to both.
  await em.execute(
    'select from collections where id = (select collection_id from documents where id = ?) for key share',
    [documentId],
  );
  const document = await em.findOne(Document, { id: documentId }, { lockMode: LockMode.PESSIMISTIC_WRITE });
  if (document?.status !== 'processing') {
    return ingestionState(document);
  }
  if ('failure' in outcome) {
    document.markFailed(outcome.failure);
  } else if (outcome.chunks.length === 0) {
    document.markFailed('empty_document');
  } else {
    await insertChunks(em, document, outcome.chunks);
    document.markReady(outcome.chunks.length);
  }
  await em.flush();
  return ingestionState(document);
}

export function ingestionState(document: Document | null): IngestionState {
  return document === null
    ? { status: 'gone', chunkCount: 0, failureCode: null }
    : {
        status: document.status,
        chunkCount: document.chunkCount,
        failureCode: document.failureCode ?? null,
      };
}

async function insertChunks(em: EntityManager, document: Document, chunks: Chunk[]): Promise<void> {
  const collection = await em.findOneOrFail(Collection, { id: document.collectionId });
  const rows = chunks.map((chunk, position) => ({ position, ...chunk }));
  await em.execute(
    `insert into chunks (tenant_id, document_id, position, collection_id, heading, text, start_offset, end_offset, config)
     select ?, ?, position, ?, heading, text, start, "end", ?::regconfig
     from jsonb_to_recordset(?::jsonb) as r(position integer, heading text, text text, start integer, "end" integer)`,
    [document.tenantId, document.id, collection.id, collection.textSearchConfig, JSON.stringify(rows)],
  );
}
