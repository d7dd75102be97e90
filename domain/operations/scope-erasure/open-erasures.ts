import { start } from '#domain/foundation/durable/messages.ts';
import { enqueue, isPending } from '#domain/foundation/durable/outbox.ts';
import type { WorkflowInspector } from '#domain/foundation/durable/workflow-inspector.ts';
import type { EraseScopeInput } from '#domain/foundation/durable/workflow-inputs.ts';
import { workflowIdOf } from '#domain/foundation/durable/workflow-types.ts';
import { nilUuid } from '#domain/foundation/kernel/ids.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';

interface Row {
  tenant_id: string;
  root_type: EraseScopeInput['rootType'];
  root_id: string;
}

/**
 * Starts the workflow of an erasure that has none, whatever ended it: what is deleted cannot be restored, so ending it
 * from outside only delays it.
 */
export const openErasures = {
  listFunction: 'list_open_erasures',
  start: [nilUuid, nilUuid] as const,
  placeOf: (row: Row) => [row.tenant_id, row.root_id] as const,
  processRow: async (
    { unitOfWork, inspector }: { unitOfWork: UnitOfWork; inspector: WorkflowInspector },
    { tenant_id: tenantId, root_type: rootType, root_id: rootId }: Row,
  ): Promise<boolean> => {
    const scope = { tenantId, rootType, rootId };
    const workflowId = workflowIdOf('eraseScope', scope);
    // Before Temporal is asked: a start that is no longer pending was acknowledged, so Temporal knows the newest run.
    const isStarting = await unitOfWork.inTenant(tenantId, (em) => isPending(em, workflowId));
    if (isStarting || (await inspector.stateOf(workflowId)) === 'open') {
      return false;
    }
    return unitOfWork.inTenant(
      tenantId,
      async (em) => (await enqueue(em, start('eraseScope', scope))) !== null,
    );
  },
};
