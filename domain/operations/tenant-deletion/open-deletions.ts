import { start } from '#domain/foundation/durable/messages.ts';
import type { WorkflowInspector } from '#domain/foundation/durable/workflow-inspector.ts';
import type { WorkflowStarter } from '#domain/foundation/durable/workflow-starter.ts';
import { workflowIdOf } from '#domain/foundation/durable/workflow-types.ts';
import { nilUuid } from '#domain/foundation/kernel/ids.ts';

interface Row {
  tenant_id: string;
  deletion_id: string;
}

/**
 * Starts the workflow of a deletion that has none, whatever ended it: the row says where to go on. Sent at once and not
 * through the outbox, whose rows of the tenant may be erased already.
 */
export const openDeletions = {
  listFunction: 'list_open_deletions',
  start: [nilUuid, nilUuid] as const,
  placeOf: (row: Row) => [row.tenant_id, row.deletion_id] as const,
  processRow: async (
    { inspector, starter }: { inspector: WorkflowInspector; starter: WorkflowStarter },
    { tenant_id: tenantId, deletion_id: deletionId }: Row,
  ) => {
    if ((await inspector.stateOf(workflowIdOf('deleteTenant', { tenantId }))) === 'open') {
      return false;
    }
    await starter.start(start('deleteTenant', { tenantId, deletionId }));
    return true;
  },
};
