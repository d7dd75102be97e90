import type { Client } from 'pg';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EventCounts } from '#domain/foundation/events/list-events.ts';
import { sealEvents, type SealDependencies } from '#domain/foundation/events/seal-events.ts';

/** The types of the events that name a resource, oldest first. */
export async function eventTypesOf(admin: Client, resourceId: string): Promise<string[]> {
  const { rows } = await admin.query<{ event_type: string }>(
    'select event_type from events where resource_id = $1 order by id',
    [resourceId],
  );
  return rows.map((row) => row.event_type);
}

/** An id of version 7 at a moment given as SQL, the rest at random. */
export const idAt = (moment: string): string =>
  `(left(app.first_id(${moment})::text, 14) || '7' || substr(md5(random()::text), 1, 3) || '-8' || substr(md5(random()::text), 1, 3) || '-' || substr(md5(random()::text), 1, 12))::uuid`;

/**
 * Writes `count` events spread evenly over the `days` before now, as the superuser: their categories, types
 * and resources follow no pattern of time. Resources are `resources` many; one in four events has a resource
 * of its own.
 */
export async function fillLog(
  admin: Client,
  log: { tenantId: string; count: number; days: number; resources?: number },
): Promise<void> {
  await admin.query(
    `insert into events (tenant_id, id, category, event_type, resource_type, resource_id)
     select $1, ${idAt(`now() - make_interval(secs => $3 * 86400.0 * g / $2)`)},
       kind.category, kind.category || '.created', kind.resource_type,
       case when kind.resource_type = 'response' then 'resp_' || substr(md5(g::text), 1, 20)
         else public.resource_at((random() * $4)::integer, kind.resource_type) end
     from generate_series(1, $2::integer) g,
     lateral (select category, resource_type from (values ('space', 'space'), ('space', 'response'), ('collection', 'collection'),
       ('collection', 'document'), ('security', 'principal'), ('security', 'space'), ('system', 'tenant'), ('system', 'model')) as v (category, resource_type)
       offset (hashint4(g)::bigint & 7) limit 1) kind`,
    [log.tenantId, log.count, log.days, log.resources ?? 20],
  );
}

/** The requirements of `fillLog`, and a partition for each month of the past. */
export async function prepareLog(admin: Client, days: number): Promise<void> {
  await admin.query(
    `create or replace function public.resource_at(n integer, kind text) returns text language sql immutable
     as $$ select md5(kind || n)::uuid::text $$`,
  );
  await admin.query(
    `do $$ declare m timestamptz; begin
       set local timezone = 'UTC';
       for m in select generate_series(date_trunc('month', now()) - interval '1 month',
           date_trunc('month', now() - interval '${days} days'), - interval '1 month') loop
         perform app.add_event_month(m);
       end loop;
     end $$`,
  );
}

export interface Window {
  resourceType?: string | null;
  resourceId?: string | null;
  from?: string | null;
  to?: string | null;
}

/** The totals from a count of every event. */
export async function countAll(admin: Client, tenantId: string, window: Window = {}): Promise<EventCounts> {
  const { rows } = await admin.query<{ category: keyof EventCounts; n: number }>(
    `select category, count(*)::integer as n from events where tenant_id = $1
       and ($2::text is null or resource_type = $2) and ($3::text is null or resource_id = $3)
       and ($4::timestamptz is null or created_at >= $4) and ($5::timestamptz is null or created_at <= $5)
     group by 1`,
    [
      tenantId,
      window.resourceType ?? null,
      window.resourceId ?? null,
      window.from ?? null,
      window.to ?? null,
    ],
  );
  const counts = { space: 0, collection: 0, security: 0, system: 0, all: 0 };
  for (const { category, n } of rows) {
    counts[category] = n;
    counts.all += n;
  }
  return counts;
}

/** Waits until all events may be sealed: transactions of other test files, like any of the server, delay that. */
export async function untilSealable(admin: Client): Promise<void> {
  for (const until = Date.now() + 30_000; Date.now() < until; await sleep(50)) {
    const { rows } = await admin.query<{ sealable: boolean | null }>(
      `select max(transaction_id) < app.log_position(pg_snapshot_xmin(pg_current_snapshot())) as sealable from events`,
    );
    if (rows[0]?.sealable !== false) {
      return;
    }
  }
  throw new Error('A transaction of the server does not end: no later event can be sealed.');
}

/**
 * Seals until nothing is left: transactions of other test files, like any of the server, delay sealing for
 * moments.
 */
export async function sealAll(admin: Client, deps: SealDependencies): Promise<void> {
  for (let waitedMs = 0; waitedMs < 30_000; waitedMs += 20) {
    const { failed } = await sealEvents(deps);
    if (failed > 0) throw new Error('A tenant could not be sealed.');
    const { rows } = await admin.query('select * from app.list_unsealed()');
    if (rows.length === 0) return;
    await sleep(20);
  }
  throw new Error('Not everything was sealed in time.');
}
