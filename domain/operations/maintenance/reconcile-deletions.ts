import { start } from '#domain/foundation/durable/messages.ts';
import { workflowIdOf } from '#domain/foundation/durable/workflow-types.ts';
import { nilUuid } from '#domain/foundation/kernel/ids.ts';
import { listedSweep } from './listed-sweep.ts';

/**
 * Starts the workflow of a deletion that has none, whatever ended it: the row says where to go on. Sent at once and not
 * through the outbox, whose rows of the tenant may be erased already.
 */
export const reconcileDeletions = listedSweep<{ tenant_id: string; deletion_id: string }>({
  listFunction: 'list_open_deletions',
  start: [nilUuid, nilUuid],
  placeOf: (row) => [row.tenant_id, row.deletion_id],
  processRow: async ({ inspector, starter }, { tenant_id: tenantId, deletion_id: deletionId }) => {
    if ((await inspector.stateOf(workflowIdOf('deleteTenant', { tenantId }))) === 'open') {
      return false;
    }
    await starter.start(start('deleteTenant', { tenantId, deletionId }));
    return true;
  },
});
