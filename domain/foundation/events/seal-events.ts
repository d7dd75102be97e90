import type { EntityManager } from '@mikro-orm/postgresql';
import { nilUuid } from '#domain/foundation/kernel/ids.ts';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import { RowFailures } from '#domain/foundation/persistence/row-failures.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { sealPrincipal } from './seal-principal.ts';
import { eventDigest, nextHead } from './event-digest.ts';
import type { TenantTurns } from './tenant-turns.ts';

export interface SealDependencies {
  /** Runs as the purge role, which alone may write the chain. */
  purge: UnitOfWork;
  secrets: Secrets;
}

export interface Sealed {
  sealed: number;
  /** Tenants whose turn failed; the next round retries them. */
  failed: number;
  /** The tenant after which it was stopped; null: it reached the end. */
  next: string | null;
}

const batch = 5_000;
/** Batches per tenant and turn, so that a busy tenant does not delay the others. */
const batchesPerTurn = 10;

/**
 * Seals the committed events of every tenant until less than a batch remains of each, and seals names that are not
 * sealed yet. Tenants take turns in the order of their ids, so that those with much to seal do not delay those behind
 * them. May run concurrently with itself: each run locks a tenant's chain row.
 */
export async function sealEvents(
  deps: SealDependencies,
  { after = null, mayGoOn = () => true, reached = () => undefined }: TenantTurns = {},
): Promise<Sealed> {
  const failures = new RowFailures();
  let sealed = 0;
  let from = after ?? nilUuid;
  for (let more = true; more;) {
    // The tenants up to the place have their turn, too.
    more = from !== nilUuid;
    for (const tenantId of await tenantsWithWork(deps.purge, from)) {
      await failures.collect(async () => {
        await sealNames(deps, tenantId);
        const turn = await sealTenant(deps.purge, tenantId);
        sealed += turn.sealed;
        more ||= turn.more;
      });
      reached(tenantId);
      if (!mayGoOn()) {
        return { sealed, failed: failures.count, next: tenantId };
      }
    }
    if (failures.count > 0) {
      break;
    }
    from = nilUuid;
  }
  return { sealed, failed: failures.count, next: null };
}

/** Whether any tenant's log has unsealed events. */
export async function hasUnsealed(purge: UnitOfWork): Promise<boolean> {
  const rows = await purge.acrossTenants((em) =>
    em.execute<object[]>('select from app.list_unsealed() limit 1'),
  );
  return rows.length > 0;
}

async function tenantsWithWork(purge: UnitOfWork, after: string): Promise<string[]> {
  const rows = await purge.acrossTenants((em) =>
    em.execute<{ tenant_id: string }[]>(
      'select tenant_id from app.list_unsealed() where tenant_id > ? order by tenant_id',
      [after],
    ),
  );
  return rows.map(({ tenant_id: tenantId }) => tenantId);
}

/** Seals one tenant's log for one turn. */
export async function sealTenant(
  purge: UnitOfWork,
  tenantId: string,
): Promise<{ sealed: number; more: boolean }> {
  let sealed = 0;
  for (let turn = 0; turn < batchesPerTurn; turn += 1) {
    const done = await purge.inTenant(tenantId, (em) => sealBatch(em, tenantId));
    sealed += done;
    if (done === 0) {
      return { sealed, more: false };
    }
  }
  return { sealed, more: true };
}

/**
 * Seals the next batch: events in (transaction id, event id) order below the oldest running transaction, so that no
 * later event can precede them.
 * @returns the number of events; 0 also when another process holds the chain
 */
async function sealBatch(em: EntityManager, tenantId: string): Promise<number> {
  await em.execute('insert into event_chains (tenant_id) values (?) on conflict do nothing', [tenantId]);
  const [chain] = await em.execute<{ seq: string; head: string; xid: string; id: string; ahead: boolean }[]>(
    `select seq, encode(head, 'hex') as head, last_transaction_id::text as xid, last_event_id as id,
       last_transaction_id >= app.log_position(pg_snapshot_xmax(pg_current_snapshot())) as ahead
     from event_chains where tenant_id = ? for update skip locked`,
    [tenantId],
  );
  if (chain === undefined) {
    return 0;
  }
  if (chain.ahead) {
    // A new event would never sort after the sealed ones: see "back up and restore" in operating.md.
    throw new Error('The log was restored from a dump, and this server has not been migrated since.');
  }
  const [done] = await em.execute<{ n: number }[]>(sealStatement, [
    tenantId,
    chain.head,
    chain.seq,
    tenantId,
    chain.xid,
    chain.id,
  ]);
  return done?.n ?? 0;
}

const sealStatement = `
with input as (
  select ?::uuid as tenant_id, decode(?, 'hex') as head, ?::bigint as seq),
due as materialized (
  select e.id, e.transaction_id, e.category, e.resource_type, e.resource_id, e.created_at,
    date_trunc('month', e.created_at, 'UTC') as month, ${eventDigest} as digest,
    row_number() over (order by e.transaction_id, e.id) as place
  -- with its limits as constants, so that the order of an index is all that is read
  from (select e.* from events e
    where e.tenant_id = ? and (e.transaction_id, e.id) > (?::xid8, ?::uuid)
      and e.transaction_id < app.log_position(pg_snapshot_xmin(pg_current_snapshot()))
    order by e.transaction_id, e.id limit ${batch}) e),
batch as materialized (
  -- of one month, so that a month can be dropped
  select * from due where place < coalesce(
    (select min(place) from due where month <> (select month from due where place = 1)), ${2 ** 31})),
counted as (
  insert into event_counts (tenant_id, grain, starts_at, category, resource_type, n)
  select input.tenant_id, g, app.floor_to(b.created_at, g), b.category, b.resource_type, count(*)
  from input, batch b, unnest(array['10 minutes', '1 hour', '1 day', '1 month']) g group by 1, 2, 3, 4, 5
  on conflict (tenant_id, grain, starts_at, category, resource_type) do update set n = event_counts.n + excluded.n),
of_resources as (
  insert into event_resource_counts (tenant_id, resource_id, grain, starts_at, category, resource_type, n)
  select input.tenant_id, b.resource_id, g, app.floor_to(b.created_at, g), b.category, b.resource_type, count(*)
  from input, batch b, unnest(array['1 day', '1 month']) g where not app.is_fleeting(b.resource_type) group by 1, 2, 3, 4, 5, 6
  on conflict (tenant_id, resource_id, grain, starts_at, category, resource_type)
    do update set n = event_resource_counts.n + excluded.n),
whole as (
  select count(*)::integer as n, min(month) as month, array_agg(id order by place) as ids,
    string_agg(digest, ''::bytea order by place) as digests,
    (array_agg(transaction_id order by place desc))[1] as xid, (array_agg(id order by place desc))[1] as id
  from batch having count(*) > 0),
sealed as (
  insert into event_seals (tenant_id, seq, month, event_count, event_ids, digests, digest, head, last_transaction_id, last_event_id)
  select input.tenant_id, input.seq + 1, w.month, w.n, w.ids, w.digests, sha256(w.digests),
    ${nextHead('input.head', { seq: 'input.seq + 1', month: 'w.month', digest: 'sha256(w.digests)' })}, w.xid, w.id
  from input, whole w returning tenant_id, seq, event_count, head, last_transaction_id, last_event_id)
update event_chains c set seq = s.seq, event_count = c.event_count + s.event_count, head = s.head,
  last_transaction_id = s.last_transaction_id, last_event_id = s.last_event_id
from sealed s where c.tenant_id = s.tenant_id returning s.event_count as n`;

/**
 * Seals the names of principals that were created or renamed without it. Principals that are being changed or deleted
 * are left to the next round: nothing is sealed for a deleted principal.
 */
async function sealNames({ purge, secrets }: SealDependencies, tenantId: string): Promise<void> {
  await purge.inTenant(tenantId, async (em) => {
    const left = await em.execute<{ id: string; name: string | null; email: string | null }[]>(
      `select id, name, email from principals
       where tenant_id = ? and deleted_at is null
         and ((name is not null and sealed_name is null) or (email is not null and sealed_email is null))
       order by id limit 500 for no key update skip locked`,
      [tenantId],
    );
    for (const principal of left) {
      await sealPrincipal({ em, secrets }, { tenantId, ...principal });
    }
  });
}
