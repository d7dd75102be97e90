import type { EntityManager } from '@mikro-orm/postgresql';
import type { Document } from '#domain/knowledge/collections/document.entity.ts';
import type { DocumentFailureCode, DocumentStatus } from '#domain/knowledge/collections/document-status.ts';
import { lockForReading, type StoredPassages } from './store-passages.ts';

export interface IngestionState {
  /** `gone`: deleted meanwhile. */
  status: DocumentStatus | 'gone';
  chunkCount: number;
  failureCode: DocumentFailureCode | null;
}

/**
 * Ends a document's processing: from the commit on, searches use the stored passages instead of those of an earlier
 * reading. A document that has ended already stays unchanged, so a repeat has no effect.
 */
export async function finishIngestion(
  em: EntityManager,
  documentId: string,
  outcome: StoredPassages | { failure: DocumentFailureCode },
): Promise<IngestionState> {
  const document = await lockForReading(em, documentId);
  if (document?.status !== 'processing') {
    return ingestionState(document);
  }
  if ('failure' in outcome) {
    document.markFailed(outcome.failure);
  } else {
    const passages = await countPassages(em, document, outcome.generation);
    if (passages === 0) {
      document.markFailed('empty_document');
    } else {
      document.markReady(passages);
    }
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

async function countPassages(em: EntityManager, document: Document, generation: number): Promise<number> {
  const [row] = await em.execute<{ n: number }[]>(
    'select count(*)::int as n from chunks where tenant_id = ? and document_id = ? and generation = ?',
    [document.tenantId, document.id, generation],
  );
  return row?.n ?? 0;
}
