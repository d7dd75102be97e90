import type { Database } from '#domain/persistence/database.ts';
import type { UnitOfWork } from '#domain/persistence/unit-of-work.ts';
import { RowFailures } from './row-failures.ts';

/** As long as the events that they tell of. */
const retentionDays = 365;
/** Rows of one transaction. */
const batch = 5_000;

/** Removes notifications, and the periods somebody was told of, whose time is over. Runs as the purge role. */
export async function purgeNotifications(database: Database, purge: UnitOfWork): Promise<{ failed: number }> {
  const failures = new RowFailures();
  const tenants = await database.call<{ tenant_id: string }>(
    'list_tenants_with_old_notifications',
    'select * from app.list_tenants_with_old_notifications($1)',
    [retentionDays],
  );
  for (const { tenant_id: tenantId } of tenants) {
    await failures.collect(async () => {
      for (let removed = batch; removed === batch;) {
        removed = await purge.inTenant(tenantId, async (em) => {
          const [row] = await em.execute<{ removed: number }[]>(
            `with old as (
               select id from notifications where tenant_id = ? and created_at < now() - make_interval(days => ?) limit ?),
             gone as (
               delete from notifications n using old where n.tenant_id = ? and n.id = old.id returning 1)
             select count(*)::int as removed from gone`,
            [tenantId, retentionDays, batch, tenantId],
          );
          return row?.removed ?? 0;
        });
      }
      await purge.inTenant(tenantId, (em) =>
        em.execute(
          'delete from notified_periods where tenant_id = ? and created_at < now() - make_interval(days => ?)',
          [tenantId, retentionDays],
        ),
      );
    });
  }
  return { failed: failures.count };
}
