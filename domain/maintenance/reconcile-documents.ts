import { Document, documentWorkflowId } from '#domain/collections/document.entity.ts';
import { enqueueStart } from '#domain/durable/outbox.ts';
import type { Dispatch } from '#domain/kernel/dispatcher.ts';
import { finishIngestion } from '#domain/knowledge/finish-ingestion.ts';
import type { ReconcileDependencies } from './reconcile-responses.ts';

const batch = 200;

/**
 * Compares documents that wait for their extraction with the engine: one whose workflow was ended fails, one
 * whose workflow the engine has lost is extracted anew.
 * @returns starts to be dispatched.
 */
export async function reconcileDocuments(deps: ReconcileDependencies): Promise<Dispatch[]> {
  const rows = await deps.database.call<{ tenant_id: string; document_id: string }>(
    'list_unprocessed',
    'select * from app.list_unprocessed($1)',
    [batch],
  );
  const starts: Dispatch[] = [];
  for (const { tenant_id: tenantId, document_id: documentId } of rows) {
    const workflowId = documentWorkflowId(tenantId, documentId);
    const state = await deps.inspector.stateOf(workflowId);
    if (state === 'closed') {
      await deps.unitOfWork.inTenant(tenantId, (em) =>
        finishIngestion(em, documentId, { failure: 'extraction_failed' }),
      );
    } else if (state === 'unknown_id') {
      const start = await deps.unitOfWork.inTenant(tenantId, async (em) => {
        const document = await em.findOne(Document, { id: documentId, status: 'processing' });
        const owed = await em.execute('select id from outbox where workflow_id = ?', [workflowId]);
        return document === null || owed.length > 0
          ? null
          : enqueueStart(em, {
              tenantId,
              workflowType: 'ingestDocument',
              workflowId,
              payload: { tenantId, documentId },
            });
      });
      if (start !== null) {
        starts.push(start);
      }
    }
  }
  return starts;
}
