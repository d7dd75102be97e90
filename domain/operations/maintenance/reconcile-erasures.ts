import { start } from '#domain/foundation/durable/messages.ts';
import { enqueue } from '#domain/foundation/durable/outbox.ts';
import type { EraseScopeInput } from '#domain/foundation/durable/workflow-inputs.ts';
import { workflowIdOf } from '#domain/foundation/durable/workflow-types.ts';
import { nilUuid } from '#domain/foundation/kernel/ids.ts';
import { reconciling } from './reconcile.ts';

interface Row {
  tenant_id: string;
  root_type: EraseScopeInput['rootType'];
  root_id: string;
}

/**
 * Compares erasures with Temporal: whatever ended the workflow, it is started again. What is deleted cannot be restored,
 * so an operator who ends it only delays it.
 */
export const reconcileErasures = reconciling<Row>({
  listFunction: 'list_open_erasures',
  start: [nilUuid, nilUuid],
  placeOf: (row) => [row.tenant_id, row.root_id],
  unfinished: ({ tenant_id: tenantId, root_type: rootType, root_id: rootId }) => {
    const message = start('eraseScope', { tenantId, rootType, rootId });
    return {
      tenantId,
      workflowId: workflowIdOf('eraseScope', { tenantId, rootType, rootId }),
      giveUp: (em) => enqueue(em, message),
      restart: async () => message,
    };
  },
});
