import type { EntityManager } from '@mikro-orm/postgresql';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import type { Document } from '#domain/knowledge/collections/document.entity.ts';
import type { DocumentFailureCode, DocumentStatus } from '#domain/knowledge/collections/document-status.ts';
import { lockForReading } from './store-passages.ts';

export interface IngestionState {
  /** `gone`: deleted meanwhile. */
  status: DocumentStatus | 'gone';
  chunkCount: number;
  failureCode: DocumentFailureCode | null;
}

/**
 * Ends a document's processing, with its stored passages or with a failure. A document that has ended already stays
 * unchanged, so a repeat has no effect.
 */
export async function finishIngestion(
  em: EntityManager,
  documentId: string,
  failure: DocumentFailureCode | null,
): Promise<IngestionState> {
  const document = await lockForReading(em, documentId);
  if (document?.status !== 'processing') {
    return ingestionState(document);
  }
  if (failure === null) {
    document.markReady();
  } else {
    document.markFailed(failure, await databaseNow(em));
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
