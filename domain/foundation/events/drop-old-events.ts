import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { changePartitions } from '#domain/foundation/persistence/change-partitions.ts';
import { RowFailures } from '#domain/foundation/persistence/row-failures.ts';
import { clearOldLog } from './clear-old-log.ts';
import type { TenantTurns } from './tenant-turns.ts';

/** Max tenants that a round names. */
const maxNamed = 10;
/** Max rows of a transaction. */
const rowsAtOnce = 5_000;

interface DroppedMonths {
  dropped: number;
  failed: number;
  /** The tenant after which it was stopped; null: it reached the end. */
  next: string | null;
  /** Those that hold up the months, some of them. */
  failedTenants: string[];
}

/**
 * Drops the months of the log whose retention is over: first the seals and counts of each tenant in batches, then the
 * partitions, once no tenant has a seal of them. The chain continues from a checkpoint with its retained heads
 * unchanged. Runs as the purge role; may be interrupted and run again: tenants that are done are not listed any more.
 * A tenant with unsealed events of such a month holds up every month, unless it is being erased: its events are not
 * sealed any more.
 * @param turns checked also after each batch; a tenant that was stopped between two has its next turn after the others
 */
export async function dropOldEvents(
  purge: UnitOfWork,
  retentionDays: number,
  { after = null, mayGoOn = () => true, reached = () => undefined }: TenantTurns = {},
  batchSize = rowsAtOnce,
): Promise<DroppedMonths> {
  const failures = new RowFailures();
  const failedTenants: string[] = [];
  const [due] = await purge.acrossTenants((em) =>
    em.execute<{ before: string }[]>(
      `select date_trunc('month', now() - make_interval(days => ?), 'UTC')::text as before`,
      [retentionDays],
    ),
  );
  const before = due?.before ?? '-infinity';
  for (const tenantId of await listTenants(purge, before, after)) {
    const failed = failures.count;
    let isDone = true;
    await failures.collect(async () => {
      isDone = await clearOldLog({ purge, before, mayGoOn, batchSize }, tenantId);
    });
    if (failures.count > failed && failedTenants.length < maxNamed) {
      failedTenants.push(tenantId);
    }
    reached(tenantId);
    if (!isDone || !mayGoOn()) {
      return { dropped: 0, failed: failures.count, next: tenantId, failedTenants };
    }
  }
  if (failures.count > 0) {
    return { dropped: 0, failed: failures.count, next: null, failedTenants };
  }
  const rows = await changePartitions(purge, (em) =>
    em.execute<{ dropped: number }[]>('select app.drop_event_months(?) as dropped', [before]),
  );
  return { dropped: rows?.[0]?.dropped ?? 0, failed: rows === null ? 1 : 0, next: null, failedTenants };
}

/** All that have rows to delete: those behind the place first. */
async function listTenants(purge: UnitOfWork, before: string, after: string | null): Promise<string[]> {
  const rows = await purge.acrossTenants((em) =>
    em.execute<{ tenant_id: string }[]>(
      'select tenant_id from app.list_event_tenants(?) order by coalesce(tenant_id > ?::uuid, true) desc, tenant_id',
      [before, after],
    ),
  );
  return rows.map(({ tenant_id: tenantId }) => tenantId);
}
