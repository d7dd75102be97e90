import { nilUuid } from '#domain/kernel/ids.ts';
import type { Database } from '#domain/persistence/database.ts';
import type { UnitOfWork } from '#domain/persistence/unit-of-work.ts';
import { lockQueue } from '#domain/threads/branch-queue.ts';
import { sweep } from './sweep.ts';

/**
 * Removes deleted threads with their messages and what their tokens stood for. Runs as the purge role; each thread is
 * one transaction.
 */
export async function purgeThreads(
  database: Database,
  purge: UnitOfWork,
): Promise<{ purged: number; failed: number }> {
  const { seen, failed } = await sweep<{ tenant_id: string; thread_id: string }>(
    database,
    {
      door: 'list_deleted_threads',
      start: [nilUuid, nilUuid],
      placeOf: (row) => [row.tenant_id, row.thread_id],
    },
    (row) =>
      purge.inTenant(row.tenant_id, async (em) => {
        // The deletion takes them in no order, and each end takes those that wait for it.
        await lockQueue(em, { threadId: row.thread_id, branchId: null });
        await em.execute(`delete from threads where id = ? and status = 'deleted'`, [row.thread_id]);
      }),
  );
  return { purged: seen - failed, failed };
}
