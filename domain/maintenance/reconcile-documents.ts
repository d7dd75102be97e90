import { Document, documentWorkflowId } from '#domain/collections/document.entity.ts';
import { enqueueStart } from '#domain/durable/outbox.ts';
import type { Dispatch } from '#domain/kernel/dispatcher.ts';
import { nilUuid } from '#domain/kernel/ids.ts';
import { finishIngestion } from '#domain/knowledge/finish-ingestion.ts';
import { reconcile, type ReconcileDependencies, type Reconciled, type Unfinished } from './reconcile.ts';
import { sweep } from './sweep.ts';

interface WaitingRow {
  tenant_id: string;
  document_id: string;
}

/**
 * Compares documents that wait for their extraction with the engine: one whose workflow was ended fails, one
 * whose workflow the engine has lost is extracted anew.
 */
export async function reconcileDocuments(deps: ReconcileDependencies): Promise<Reconciled> {
  const starts: Dispatch[] = [];
  const { failed } = await sweep<WaitingRow>(
    deps.database,
    {
      door: 'list_unprocessed',
      start: [nilUuid, nilUuid],
      placeOf: (row) => [row.tenant_id, row.document_id],
    },
    async (row) => {
      const start = await reconcile(
        deps,
        ingestion({ tenantId: row.tenant_id, documentId: row.document_id }),
      );
      if (start !== null) {
        starts.push(start);
      }
    },
  );
  return { starts, failed };
}

function ingestion(payload: { tenantId: string; documentId: string }): Unfinished {
  const { tenantId, documentId } = payload;
  const workflowId = documentWorkflowId(tenantId, documentId);
  return {
    tenantId,
    workflowId,
    giveUp: (em) => finishIngestion(em, documentId, { failure: 'extraction_failed' }),
    async startAnew(em) {
      const document = await em.findOne(Document, { id: documentId, status: 'processing' });
      return document === null
        ? null
        : enqueueStart(em, { tenantId, workflowType: 'ingestDocument', workflowId, payload });
    },
  };
}
