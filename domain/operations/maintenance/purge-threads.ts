import { nilUuid } from '#domain/foundation/kernel/ids.ts';
import { lockQueue } from '#domain/conversations/threads/branch-queue.ts';
import { listedSweep } from '#domain/operations/sweep-kinds/listed-sweep.ts';

/**
 * Deletes deleted threads with their messages and their redaction mappings, as the purge role; each thread is one
 * transaction.
 */
export const purgeThreads = listedSweep<{ tenant_id: string; thread_id: string }>({
  listFunction: 'list_deleted_threads',
  start: [nilUuid, nilUuid],
  placeOf: (row) => [row.tenant_id, row.thread_id],
  async processRow({ purge }, row) {
    await purge.inTenant(row.tenant_id, async (em) => {
      // The cascade locks responses in no fixed order, and the end of a response locks those that it blocks.
      await lockQueue(em, { threadId: row.thread_id, branchId: null });
      await em.execute(`delete from threads where id = ? and status = 'deleted'`, [row.thread_id]);
    });
    return true;
  },
});
