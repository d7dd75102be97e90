import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { changePartitions } from '#domain/foundation/persistence/change-partitions.ts';
import { RowFailures } from '#domain/foundation/persistence/row-failures.ts';

/** Max tenants that a round names. */
const maxNamed = 10;

/**
 * Drops the months of the log whose retention is over: first the seals and counts of each tenant, then the
 * partitions. The chain continues from a checkpoint with its retained heads unchanged. Runs as the purge role; may be
 * interrupted and run again. A tenant with unsealed events of such a month holds up every month, unless it is being
 * erased: its events are not sealed any more.
 * @param mayGoOn checked after each tenant
 * @returns `more`: it was stopped before the end; `failedTenants`: those that hold up the months, some of them
 */
export async function dropOldEvents(
  purge: UnitOfWork,
  retentionDays: number,
  mayGoOn: () => boolean = () => true,
): Promise<{ dropped: number; failed: number; more: boolean; failedTenants: string[] }> {
  const failures = new RowFailures();
  const failedTenants: string[] = [];
  const [due] = await purge.acrossTenants((em) =>
    em.execute<{ before: string }[]>(
      `select date_trunc('month', now() - make_interval(days => ?), 'UTC')::text as before`,
      [retentionDays],
    ),
  );
  const before = due?.before ?? '-infinity';
  const tenants = await purge.acrossTenants((em) =>
    em.execute<{ tenant_id: string }[]>('select tenant_id from app.list_event_tenants(?)', [before]),
  );
  for (const { tenant_id: tenantId } of tenants) {
    const failed = failures.count;
    await failures.collect(() => dropOfTenant(purge, tenantId, before));
    if (failures.count > failed && failedTenants.length < maxNamed) {
      failedTenants.push(tenantId);
    }
    if (!mayGoOn()) {
      return { dropped: 0, failed: failures.count, more: true, failedTenants };
    }
  }
  if (failures.count > 0) {
    return { dropped: 0, failed: failures.count, more: false, failedTenants };
  }
  const rows = await changePartitions(purge, (em) =>
    em.execute<{ dropped: number }[]>('select app.drop_event_months(?) as dropped', [before]),
  );
  return { dropped: rows?.[0]?.dropped ?? 0, failed: rows === null ? 1 : 0, more: false, failedTenants };
}

async function dropOfTenant(purge: UnitOfWork, tenantId: string, before: string): Promise<void> {
  await purge.inTenant(tenantId, async (em) => {
    const unsealed = await em.execute(
      `select from events e, event_chains c, tenants t
       where e.tenant_id = ? and c.tenant_id = e.tenant_id and e.created_at < ?::timestamptz
         and t.tenant_id = e.tenant_id and t.status not in ('deleting', 'deleted')
         and (e.transaction_id, e.id) > (c.last_transaction_id, c.last_event_id) limit 1`,
      [tenantId, before],
    );
    if (unsealed.length > 0) {
      throw new Error('Events whose retention is over are not sealed yet.');
    }
    await em.execute(
      'update event_chains set retained_from = ?::timestamptz where tenant_id = ? and retained_from < ?::timestamptz',
      [before, tenantId, before],
    );
    await em.execute('delete from event_counts where tenant_id = ? and starts_at < ?::timestamptz', [
      tenantId,
      before,
    ]);
    await em.execute('delete from event_resource_counts where tenant_id = ? and starts_at < ?::timestamptz', [
      tenantId,
      before,
    ]);
    // Notifications are deleted before the events that they refer to.
    await em.execute(
      'delete from notifications where tenant_id = ? and event_id < app.first_id(?::timestamptz)',
      [tenantId, before],
    );
    // Events that were never in a monthly partition.
    await em.execute('delete from events_past where tenant_id = ? and id < app.first_id(?::timestamptz)', [
      tenantId,
      before,
    ]);
    await em.execute(
      'update event_seals set event_ids = null, digests = null where tenant_id = ? and month < ?::timestamptz and event_ids is not null',
      [tenantId, before],
    );
    // Batches of two months may alternate where they meet: the chain is cut before the first retained batch.
    await em.execute(
      `with kept as (select coalesce(min(seq), 9223372036854775807) as seq from event_seals
         where tenant_id = ? and event_ids is not null),
       gone as (delete from event_seals s using kept where s.tenant_id = ? and s.seq < kept.seq
         returning s.seq, s.event_count, s.head)
       update event_chains c set checkpoint_seq = g.seq, checkpoint_count = c.checkpoint_count + g.n, checkpoint_head = g.head
       from (select max(seq) as seq, sum(event_count) as n, (array_agg(head order by seq desc))[1] as head
         from gone having count(*) > 0) g
       where c.tenant_id = ?`,
      [tenantId, tenantId, tenantId],
    );
  });
}
