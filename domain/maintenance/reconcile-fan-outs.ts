import { enqueueStart } from '#domain/durable/outbox.ts';
import { nilUuid } from '#domain/kernel/ids.ts';
import type { EventType } from '#domain/events/catalogue.ts';
import { fanOutWorkflowId } from '#domain/notifications/owe-fan-out.ts';
import type { Dispatch } from '#domain/kernel/dispatcher.ts';
import type { ReconcileDependencies, Reconciled } from './reconcile-responses.ts';
import { RowFailures } from './row-failures.ts';

const batch = 200;

interface UnfinishedRow {
  tenant_id: string;
  event_id: string;
  event_type: EventType;
  created_at: string;
}

/**
 * Compares fan-outs that have not reached their last recipient with the engine: one that the engine has lost is
 * started anew, one that an operator ended is given up.
 */
export async function reconcileFanOuts(deps: ReconcileDependencies): Promise<Reconciled> {
  const starts: Dispatch[] = [];
  const failures = new RowFailures();
  for (let after = { created_at: '-infinity', event_id: nilUuid }; ;) {
    const rows = await deps.database.call<UnfinishedRow>(
      'list_unfinished_fan_outs',
      'select * from app.list_unfinished_fan_outs($1, $2, $3)',
      [after.created_at, after.event_id, batch],
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

async function reconcile(deps: ReconcileDependencies, row: UnfinishedRow): Promise<Dispatch | null> {
  const { tenant_id: tenantId, event_id: eventId, event_type: eventType } = row;
  const workflowId = fanOutWorkflowId(tenantId, eventId);
  const isOwed = await deps.unitOfWork.inTenant(tenantId, async (em) => {
    const owed = await em.execute('select id from outbox where workflow_id = ?', [workflowId]);
    return owed.length > 0;
  });
  // Asked first: a start that is no longer owed has been acknowledged, so the engine knows the newest run.
  if (isOwed) {
    return null;
  }
  switch (await deps.inspector.stateOf(workflowId)) {
    case 'running':
      return null;
    case 'closed':
      await deps.unitOfWork.inTenant(tenantId, (em) =>
        em.execute('delete from fan_outs where tenant_id = ? and event_id = ?', [tenantId, eventId]),
      );
      return null;
    case 'unknown_id':
      return deps.unitOfWork.inTenant(tenantId, async (em) => {
        const [found] = await em.execute<object[]>(
          'select event_id from fan_outs where tenant_id = ? and event_id = ? for update',
          [tenantId, eventId],
        );
        const payload = { tenantId, eventId, eventType };
        return found === undefined
          ? null
          : enqueueStart(em, { tenantId, workflowType: 'fanOutEvent', workflowId, payload });
      });
  }
}
