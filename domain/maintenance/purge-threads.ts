import { nilUuid } from '#domain/kernel/ids.ts';
import type { Database } from '#domain/persistence/database.ts';
import type { UnitOfWork } from '#domain/persistence/unit-of-work.ts';
import { RowFailures } from './row-failures.ts';

const batch = 200;

/**
 * Removes deleted threads with their messages and what their tokens stood for. Runs as the purge role; each thread is
 * one transaction.
 */
export async function purgeThreads(
  database: Database,
  purge: UnitOfWork,
): Promise<{ purged: number; failed: number }> {
  const failures = new RowFailures();
  let seen = 0;
  for (let after = { tenant_id: nilUuid, thread_id: nilUuid }; ;) {
    const rows = await database.call<typeof after>(
      'list_deleted_threads',
      'select * from app.list_deleted_threads($1, $2, $3)',
      [after.tenant_id, after.thread_id, batch],
    );
    for (const row of rows) {
      await failures.collect(() =>
        purge.inTenant(row.tenant_id, async (em) => {
          await em.execute(`delete from threads where id = ? and status = 'deleted'`, [row.thread_id]);
        }),
      );
    }
    seen += rows.length;
    const last = rows.at(-1);
    if (last === undefined || rows.length < batch) {
      return { purged: seen - failures.count, failed: failures.count };
    }
    after = last;
  }
}
