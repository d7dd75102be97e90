import type { EntityManager } from '@mikro-orm/postgresql';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';

interface Clearing {
  /** Runs as the purge role. */
  purge: UnitOfWork;
  /** The beginning of the first retained month. */
  before: string;
  /** Checked after each batch. */
  mayGoOn: () => boolean;
  /** Max rows of a batch. */
  batchSize: number;
}

/** Rows that go, or lose their content, in the order of an index. */
interface OldRows {
  table: string;
  /** Columns of the index behind the tenant, with their types. The first is compared with the end of the old rows. */
  order: readonly (readonly [column: string, type: string])[];
  /** An SQL condition on a row `r`. */
  onlyIf?: string;
  /** Columns that are set to null; without them the row is deleted. */
  clears?: readonly string[];
  /**
   * Others may change them meanwhile, and a statement does not see what was changed while it waited: it is repeated from
   * the beginning until it finds nothing.
   */
  isChanged?: boolean;
  /** Of a batch, when it is less than others. */
  maxRows?: number;
}

/** A batch of events has up to 240 kB of ids and digests. */
const seals: OldRows = {
  table: 'event_seals',
  order: [
    ['month', 'timestamptz'],
    ['seq', 'bigint'],
  ],
  onlyIf: 'r.event_ids is not null',
  clears: ['event_ids', 'digests'],
  maxRows: 500,
};
const rest: readonly OldRows[] = [
  ...['10 minutes', '1 hour', '1 day', '1 month'].map((grain) => ({
    table: 'event_counts',
    order: [['starts_at', 'timestamptz']] as const,
    onlyIf: `r.grain = '${grain}'`,
  })),
  { table: 'event_resource_counts', order: [['starts_at', 'timestamptz']] },
  // Notifications are deleted before the events that they refer to.
  { table: 'notifications', order: [['event_id', 'uuid']], isChanged: true },
  // Events that were never in a monthly partition.
  { table: 'events_past', order: [['id', 'uuid']] },
];

/**
 * Hides what a tenant's log has before a month, and deletes it in batches, each with its own commit. May be stopped
 * after each of them and be repeated: what is left is the place. Seals go first: an event without its seal is no
 * finding, a seal without its event is one.
 * @returns whether nothing is left
 * @throws when events of that time are not sealed yet, unless the tenant is being erased
 */
export async function clearOldLog(clearing: Clearing, tenantId: string): Promise<boolean> {
  const { purge, before, mayGoOn, batchSize } = clearing;
  await purge.inTenant(tenantId, (em) => hide(em, tenantId, before));
  const take = (rows: OldRows) => {
    const size = Math.min(batchSize, rows.maxRows ?? batchSize);
    let low: readonly string[] = [];
    return async () => {
      const batch = await purge.inTenant(tenantId, (em) =>
        takeBatch(em, { rows, tenantId, before, low, size }),
      );
      const { done } = batch;
      if (rows.isChanged === true) {
        return { done, more: done > 0 };
      }
      low = batch.last;
      return { done, more: done === size };
    };
  };
  const cut = async () => {
    const done = await purge.inTenant(tenantId, (em) => cutChain(em, tenantId, batchSize));
    return { done, more: done === batchSize };
  };
  for (const step of [take(seals), cut, ...rest.map(take)]) {
    for (let more = true; more;) {
      const batch = await step();
      more = batch.more;
      // A round deletes something, however short its time.
      if (batch.done > 0 && !mayGoOn()) return false;
    }
  }
  await purge.inTenant(tenantId, (em) =>
    em.execute(
      'update event_chains set cleared_to = ?::timestamptz where tenant_id = ? and cleared_to < ?::timestamptz',
      [before, tenantId, before],
    ),
  );
  return true;
}

async function hide(em: EntityManager, tenantId: string, before: string): Promise<void> {
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
}

/**
 * @returns how many rows were found, also if another round just takes them, and the place of the last one: the next
 *   batch does not pass those before it again
 */
async function takeBatch(
  em: EntityManager,
  batch: { rows: OldRows; tenantId: string; before: string; low: readonly string[]; size: number },
): Promise<{ done: number; last: readonly string[] }> {
  const { tenantId, before, low, size } = batch;
  const { table, order, onlyIf, clears } = batch.rows;
  const names = order.map(([column]) => column);
  const end = order[0]?.[1] === 'uuid' ? 'app.first_id(?::timestamptz)' : '?::timestamptz';
  const conditions = [
    'r.tenant_id = ?',
    `r.${names[0]} < ${end}`,
    ...(onlyIf === undefined ? [] : [onlyIf]),
    ...(low.length === 0
      ? []
      : [
          `(${names.map((name) => `r.${name}`).join(', ')}) >= (${order.map(([, type]) => `?::${type}`).join(', ')})`,
        ]),
  ];
  const change =
    clears === undefined
      ? `delete from ${table}`
      : `update ${table} set ${clears.map((column) => `${column} = null`).join(', ')}`;
  const place = names.map((name) => `p.${name}::text`).join(', ');
  const [last] = await em.execute<{ done: number; place: string[] }[]>(
    `with page as materialized (
       select r.ctid as at, ${names.map((name) => `r.${name}`).join(', ')} from ${table} r
       where ${conditions.join(' and ')}
       order by ${names.map((name) => `r.${name}`).join(', ')} limit ${size}),
     gone as (${change} where ctid = any (array(select at from page)))
     select (count(*) over ())::int as done, to_jsonb(array[${place}]) as place
     from page p order by ${names.map((name) => `p.${name} desc`).join(', ')} limit 1`,
    [tenantId, before, ...low],
  );
  return { done: last?.done ?? 0, last: last?.place ?? [] };
}

/**
 * Batches of two months may alternate where they meet: the chain is cut before the first that has its content.
 * @returns how many batches were deleted
 */
async function cutChain(em: EntityManager, tenantId: string, size: number): Promise<number> {
  const [chain] = await em.execute<{ first: string }[]>(
    'select checkpoint_seq as first from event_chains where tenant_id = ? for update',
    [tenantId],
  );
  const [cut] = await em.execute<{ done: number }[]>(
    `with part as materialized (
       select seq, event_ids is not null as whole from event_seals
       where tenant_id = ? and seq > ?::bigint and seq <= ?::bigint + ${size}),
     gone as (
       delete from event_seals s where s.tenant_id = ? and s.seq = any (array(
         select p.seq from part p where p.seq < coalesce((select min(w.seq) from part w where w.whole), ${2n ** 63n - 1n})))
       returning s.seq, s.event_count, s.head)
     update event_chains c set checkpoint_seq = g.seq, checkpoint_count = c.checkpoint_count + g.events,
       checkpoint_head = g.head
     from (select max(seq) as seq, sum(event_count) as events, (array_agg(head order by seq desc))[1] as head,
         count(*)::int as done from gone having count(*) > 0) g
     where c.tenant_id = ? returning g.done`,
    [tenantId, chain?.first ?? '0', chain?.first ?? '0', tenantId, tenantId],
  );
  return cut?.done ?? 0;
}
