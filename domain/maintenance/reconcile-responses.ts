import type { Dispatch } from '#domain/kernel/dispatcher.ts';
import type { WorkflowInspector } from '#domain/kernel/workflow-inspector.ts';
import type { Database } from '#domain/persistence/database.ts';
import type { UnitOfWork } from '#domain/persistence/unit-of-work.ts';
import { closeResponse } from '#domain/responses/close-response.ts';
import { RowFailures } from './row-failures.ts';
import { lockHead } from '#domain/responses/head.ts';
import { queueLimitMs } from '#domain/responses/response-status.ts';
import { oweGeneration } from '#domain/responses/owe-generation.ts';

const pageSize = 100;
/** A deadline that its workflow has not enforced by then is enforced from here. */
const deadlineGraceMs = 60_000;

interface StaleRow {
  tenant_id: string;
  response_id: string;
  status: 'queued' | 'in_progress';
  created_at: Date;
  queued_since: Date;
  deadline_at: Date | null;
  /** Its parent's end will start it. */
  waits: boolean;
}

export interface Reconciled {
  starts: Dispatch[];
  failed: number;
}

export interface ReconcileDependencies {
  database: Database;
  unitOfWork: UnitOfWork;
  inspector: WorkflowInspector;
}

/**
 * Compares running responses with the engine, so that nothing stays non-terminal: a workflow that was
 * terminated fails its response, an id that the engine has lost is started again and goes on from its prefix.
 * @returns starts to be dispatched, and how many rows could not be seen to.
 */
export async function reconcileResponses(deps: ReconcileDependencies): Promise<Reconciled> {
  const starts: Dispatch[] = [];
  const failures = new RowFailures();
  const [clock] = await deps.database.call<{ now: Date }>('now', 'select now()', []);
  let after: { createdAt: Date; id: string } = { createdAt: new Date(0), id: '' };
  for (;;) {
    const rows = await deps.database.call<StaleRow>(
      'list_stale',
      'select * from app.list_stale($1, $2, $3)',
      [after.createdAt, after.id, pageSize],
    );
    for (const row of rows) {
      await failures.collect(async () => {
        const start = await reconcile(deps, row, clock?.now.getTime() ?? Number.NaN);
        if (start !== null) {
          starts.push(start);
        }
      });
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < pageSize) {
      return { starts, failed: failures.count };
    }
    after = { createdAt: last.created_at, id: last.response_id };
  }
}

/** @param now by the database's clock, in milliseconds */
async function reconcile(deps: ReconcileDependencies, row: StaleRow, now: number): Promise<Dispatch | null> {
  const overdue =
    row.status === 'queued'
      ? !row.waits && now - row.queued_since.getTime() > queueLimitMs
      : row.deadline_at !== null && now - row.deadline_at.getTime() > deadlineGraceMs;
  if (overdue) {
    await deps.unitOfWork.inTenant(row.tenant_id, (em) =>
      closeResponse(em, row.response_id, { kind: 'deadline' }),
    );
    return null;
  }
  if (row.waits) {
    return null;
  }
  const state = await deps.inspector.stateOf(`response/${row.tenant_id}/${row.response_id}`);
  switch (state) {
    case 'running':
      return null;
    case 'closed':
      await deps.unitOfWork.inTenant(row.tenant_id, (em) =>
        closeResponse(em, row.response_id, { kind: 'failed', code: 'internal_error' }),
      );
      return null;
    case 'unknown_id':
      return deps.unitOfWork.inTenant(row.tenant_id, async (em) => {
        const head = await lockHead(em, row.response_id);
        const owed = await em.execute('select id from outbox where workflow_id = ?', [
          head?.response.workflowId ?? '',
        ]);
        if (head === null || head.response.isTerminal || owed.length > 0) {
          return null;
        }
        return oweGeneration(em, head.response);
      });
  }
}
