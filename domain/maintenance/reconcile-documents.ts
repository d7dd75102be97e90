import { Document, documentWorkflowId } from '#domain/collections/document.entity.ts';
import { enqueueStart } from '#domain/durable/outbox.ts';
import { nilUuid } from '#domain/kernel/ids.ts';
import type { Dispatch } from '#domain/kernel/dispatcher.ts';
import { finishIngestion } from '#domain/knowledge/finish-ingestion.ts';
import type { ReconcileDependencies, Reconciled } from './reconcile-responses.ts';
import { RowFailures } from './row-failures.ts';

const batch = 200;

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
  const failures = new RowFailures();
  for (let after: WaitingRow = { tenant_id: nilUuid, document_id: nilUuid }; ;) {
    const rows = await deps.database.call<WaitingRow>(
      'list_unprocessed',
      'select * from app.list_unprocessed($1, $2, $3)',
      [after.tenant_id, after.document_id, batch],
    );
    for (const row of rows) {
      await failures.collect(async () => {
        const start = await reconcile(deps, row);
        if (start !== null) {
          starts.push(start);
        }
      });
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < batch) {
      return { starts, failed: failures.count };
    }
    after = last;
  }
}

async function reconcile(deps: ReconcileDependencies, row: WaitingRow): Promise<Dispatch | null> {
  const { tenant_id: tenantId, document_id: documentId } = row;
  const workflowId = documentWorkflowId(tenantId, documentId);
  // Asked first: a start that is no longer owed has been acknowledged, so the engine knows the newest run.
  if (await isOwed(deps, tenantId, workflowId)) {
    return null;
  }
  const state = await deps.inspector.stateOf(workflowId);
  switch (state) {
    case 'running':
      return null;
    case 'closed':
      await deps.unitOfWork.inTenant(tenantId, (em) =>
        finishIngestion(em, documentId, { failure: 'extraction_failed' }),
      );
      return null;
    case 'unknown_id':
      return deps.unitOfWork.inTenant(tenantId, async (em) => {
        const document = await em.findOne(Document, { id: documentId, status: 'processing' });
        const payload = { tenantId, documentId };
        return document === null
          ? null
          : enqueueStart(em, { tenantId, workflowType: 'ingestDocument', workflowId, payload });
      });
  }
}

function isOwed(deps: ReconcileDependencies, tenantId: string, workflowId: string): Promise<boolean> {
  return deps.unitOfWork.inTenant(tenantId, async (em) => {
    const owed = await em.execute('select id from outbox where workflow_id = ?', [workflowId]);
    return owed.length > 0;
  });
}
