import { Document } from '#domain/knowledge/collections/document.entity.ts';
import { start } from '#domain/foundation/durable/messages.ts';
import { workflowIdOf } from '#domain/foundation/durable/workflow-types.ts';
import { nilUuid } from '#domain/foundation/kernel/ids.ts';
import { finishIngestion } from '#domain/knowledge/ingestion/finish-ingestion.ts';
import { lockForReading } from '#domain/knowledge/ingestion/store-passages.ts';
import { reconciling, type Unfinished } from './reconcile.ts';

/**
 * Compares documents in extraction with Temporal: if the workflow was ended, the document fails; if Temporal lost the
 * workflow, it is started again.
 */
export const reconcileDocuments = reconciling<{ tenant_id: string; document_id: string }>({
  listFunction: 'list_unprocessed',
  start: [nilUuid, nilUuid],
  placeOf: (row) => [row.tenant_id, row.document_id],
  unfinished: (row) => ingestion({ tenantId: row.tenant_id, documentId: row.document_id }),
});

function ingestion(ids: { tenantId: string; documentId: string }): Unfinished {
  const { tenantId, documentId } = ids;
  return {
    tenantId,
    workflowId: workflowIdOf('ingestDocument', ids),
    stampOf: async (em) => stampOf(await em.findOne(Document, { id: documentId })),
    async giveUp(em, stamp) {
      const document = await lockForReading(em, documentId);
      // Retried meanwhile: the workflow that has ended was of the reading before.
      if (stampOf(document) === stamp) {
        await finishIngestion(em, documentId, 'extraction_failed');
      }
    },
    async restart(em) {
      const document = await em.findOne(Document, { id: documentId, status: 'processing' });
      return document === null ? null : start('ingestDocument', ids);
    },
  };
}

/** A document is updated when it fails, and when it is retried. */
function stampOf(document: Document | null): string | null {
  return document?.updatedAt.toISOString() ?? null;
}
