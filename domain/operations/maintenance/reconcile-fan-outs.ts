import { workflowIdOf } from '#domain/foundation/durable/workflow-types.ts';
import { nilUuid } from '#domain/foundation/kernel/ids.ts';
import { endFanOut } from '#domain/operations/notifications/end-fan-out.ts';
import { findEvent } from '#domain/operations/notifications/find-event.ts';
import { fanOutStart } from '#domain/foundation/events/fan-out.ts';
import { reconciling, type Unfinished } from './reconcile.ts';

/**
 * Compares fan-outs that have not reached their last recipient with Temporal: if Temporal has lost the workflow, it is
 * started again; if an operator ended it, the fan-out is given up.
 */
export const reconcileFanOuts = reconciling<{ tenant_id: string; event_id: string; created_at: string }>({
  listFunction: 'list_unfinished_fan_outs',
  start: ['-infinity', nilUuid],
  placeOf: (row) => [row.created_at, row.event_id],
  unfinished: (row) => fanOut({ tenantId: row.tenant_id, eventId: row.event_id }),
});

function fanOut(ids: { tenantId: string; eventId: string }): Unfinished {
  return {
    tenantId: ids.tenantId,
    workflowId: workflowIdOf('fanOutEvent', ids),
    giveUp: (em) => endFanOut(em, ids),
    async restart(em) {
      const [found] = await em.execute<object[]>(
        'select event_id from fan_outs where tenant_id = ? and event_id = ? for update',
        [ids.tenantId, ids.eventId],
      );
      const logged = found === undefined ? null : await findEvent(em, ids);
      if (logged === null) {
        await endFanOut(em, ids);
        return null;
      }
      return fanOutStart(logged.event);
    },
  };
}
