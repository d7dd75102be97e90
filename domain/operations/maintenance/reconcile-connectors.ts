import { signalWithStart } from '#domain/foundation/durable/messages.ts';
import { enqueue } from '#domain/foundation/durable/outbox.ts';
import { nilUuid } from '#domain/foundation/kernel/ids.ts';
import { expectWithin } from '#domain/knowledge/connectors/expect-within.ts';
import { reportStale } from '#domain/knowledge/connectors/report-stale.ts';
import { listedSweep } from '#domain/operations/sweep-kinds/listed-sweep.ts';

/** The actor answers within this time, or is sent another message. */
const patienceSeconds = 120;

/**
 * Wakes the actors of connectors that should have been looked at by now; an actor that runs goes on, and is never
 * restarted. Notifies people of connectors that have not synchronised for three intervals.
 */
export const reconcileConnectors = listedSweep<{ tenant_id: string; connector_id: string }>({
  listFunction: 'list_overdue_connectors',
  start: [nilUuid, nilUuid],
  placeOf: (row) => [row.tenant_id, row.connector_id],
  processRow: async ({ unitOfWork }, { tenant_id: tenantId, connector_id: connectorId }) => {
    await unitOfWork.inTenant(tenantId, async (em) => {
      await reportStale(em, connectorId);
      await enqueue(em, signalWithStart('runConnector', { tenantId, connectorId }, 'configChanged', []));
      await expectWithin(em, { tenantId, id: connectorId }, patienceSeconds);
    });
    return true;
  },
});
