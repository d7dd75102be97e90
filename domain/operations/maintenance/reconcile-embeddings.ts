import { start } from '#domain/foundation/durable/messages.ts';
import { enqueue } from '#domain/foundation/durable/outbox.ts';
import { nilUuid } from '#domain/foundation/kernel/ids.ts';
import { listedSweep } from '#domain/operations/sweep-kinds/listed-sweep.ts';

/**
 * Starts the workflow of each space with documents that lack vectors; a running one goes on. It is how documents of an
 * earlier version, and those that were stored while a generation was activated, get their vectors.
 */
export const reconcileEmbeddings = listedSweep<{ tenant_id: string; space_id: string }>({
  listFunction: 'list_unembedded_spaces',
  start: [nilUuid, nilUuid],
  placeOf: (row) => [row.tenant_id, row.space_id],
  processRow: async ({ unitOfWork }, { tenant_id: tenantId, space_id: spaceId }) => {
    await unitOfWork.inTenant(tenantId, (em) => enqueue(em, start('embedSpace', { tenantId, spaceId })));
    return true;
  },
});
