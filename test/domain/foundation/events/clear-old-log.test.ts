import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { dropOldEvents } from '#domain/foundation/events/drop-old-events.ts';
import { listEvents } from '#domain/foundation/events/list-events.ts';
import { verifyChain, type Ask } from '#domain/foundation/events/verify-chain.ts';
import { createOrm } from '#domain/operations/schema/orm.ts';
import { openEngine, type Engine } from '../../../support/engine.ts';
import { countAll, fillLog, idAt, prepareLog, sealAll } from '../../../support/event-log.ts';
import { Purge } from '../../../support/purge.ts';
import { createWorld, secrets } from '../../../support/world.ts';

/** Longer than there are months for: the oldest events are in none. */
const days = 100;
const retentionDays = 20;
let engine: Engine;
let purge: Purge;
let other: string;

beforeAll(async () => {
  engine = await openEngine();
  purge = new Purge(engine.database);
  await prepareLog(engine.admin, 70);
  other = (await createWorld(engine.database.unitOfWork)).tenantId;
});
afterAll(async () => {
  await purge?.close();
  await engine?.stop();
});

const ask: Ask = async <Row extends object>(text: string, values: unknown[]) =>
  (await engine.admin.query<Row>(text, values)).rows;
const findingsOf = async (tenantId: string) =>
  (await verifyChain(ask, tenantId, { anchors: [], retentionDays })).findings;

/** Events of several batches of seals, with their counts, and a notification of each. */
async function fill(tenantId: string, count: number) {
  for (let part = 0; part < 4; part += 1) {
    await fillLog(engine.admin, { tenantId, count: count / 4, days: days - part, resources: 100 });
    await sealAll(engine.admin, { purge, secrets });
  }
  await engine.admin.query(
    `insert into notifications (tenant_id, event_id, user_id, category, event_type, title)
     select e.tenant_id, e.id, p.id, e.category, e.event_type, 'Old'
     from events e, principals p where e.tenant_id = $1 and p.tenant_id = $1`,
    [tenantId],
  );
}

const before = `date_trunc('month', now() - make_interval(days => ${retentionDays}), 'UTC')`;

/** What retention has to take of a tenant's log, by table. */
async function oldRows(tenantId: string): Promise<Record<string, number>> {
  const [row] = await ask<{ left: Record<string, number> }>(
    `select jsonb_build_object(
       'seals', (select count(*) from event_seals where tenant_id = $1 and month < ${before} and event_ids is not null),
       'counts', (select count(*) from event_counts where tenant_id = $1 and starts_at < ${before}),
       'resources', (select count(*) from event_resource_counts where tenant_id = $1 and starts_at < ${before}),
       'notifications', (select count(*) from notifications where tenant_id = $1 and event_id < app.first_id(${before})),
       'past', (select count(*) from events_past where tenant_id = $1)) as left`,
    [tenantId],
  );
  return row!.left;
}

const none = { seals: 0, counts: 0, resources: 0, notifications: 0, past: 0 };
const total = (rows: Record<string, number>) => Object.values(rows).reduce((sum, n) => sum + n, 0);

/** The totals that a reader of the first tenant is shown, and those of its events that are not too old. */
async function totals() {
  const { tenantId } = engine.world;
  const filters = { category: null, resourceType: null, resourceId: null, fromDate: null, toDate: null };
  const { counts } = await engine.act((ctx) => listEvents(ctx, { limit: 5, cursor: null, ...filters }));
  const [row] = await ask<{ from: string }>(`select ${before}::text as from`, []);
  return { shown: counts, retained: await countAll(engine.admin, tenantId, { from: row!.from }) };
}

describe('the retention of a large log', () => {
  it('goes on in the next round where one was stopped, tenant by tenant, and drops the month in the end', async () => {
    const { tenantId } = engine.world;
    await fill(tenantId, 240);
    await fill(other, 80);
    const tenants = [tenantId, other];
    const left = async () => (await Promise.all(tenants.map(oldRows))).map(total);
    for (const each of tenants) {
      expect(Object.values(await oldRows(each)).filter((rows) => rows === 0)).toEqual([]);
    }
    const places: string[] = [];
    const batch = 40;
    let after: string | null = null;
    for (let sum = await left(); ;) {
      const round = await dropOldEvents(purge, retentionDays, { after, mayGoOn: () => false }, batch);
      const now = await left();
      for (const [n, rows] of now.entries()) expect(sum[n]! - rows).toBeLessThanOrEqual(batch);
      for (const each of tenants) expect(await findingsOf(each)).toEqual([]);
      expect(round.failed).toBe(0);
      sum = now;
      if (round.next === null) {
        expect(round.dropped).toBeGreaterThanOrEqual(1);
        break;
      }
      expect(round.dropped).toBe(0);
      places.push(round.next);
      after = round.next;
      if (places.includes(tenantId)) {
        const { shown, retained } = await totals();
        expect(shown).toEqual(retained);
      }
    }
    expect(places.length).toBeGreaterThan(10);
    // While both have something left they take turns.
    expect(new Set(places.slice(0, 2))).toEqual(new Set(tenants));
    expect(places[2]).toBe(places[0]);
    for (const each of tenants) expect(await oldRows(each)).toEqual(none);
    const months = await ask(`select from app.event_months() m where m < ${before}`, []);
    expect(months).toEqual([]);
    expect(await dropOldEvents(purge, retentionDays)).toEqual({
      dropped: 0,
      failed: 0,
      next: null,
      failedTenants: [],
    });
  });

  it('ends although all of its rows at once would take longer than a statement may', async () => {
    const late = await createWorld(engine.database.unitOfWork);
    const { tenantId } = late;
    await engine.admin.query(
      `select app.add_event_month(m) from date_trunc('month', ${before} - interval '1 day', 'UTC') m
       where m not in (select e from app.event_months() e)`,
    );
    // What was recorded when it was made is of this month, and would be the first part of the chain.
    await engine.admin.query('set session_replication_role = replica');
    await engine.admin.query('delete from events where tenant_id = $1', [tenantId]);
    await engine.admin.query('set session_replication_role = origin');
    for (let part = 0; part < 25; part += 1) {
      await engine.admin.query(
        `insert into events (tenant_id, id, category, event_type, resource_type, resource_id)
         select $1, ${idAt(`${before} - interval '1 day'`)}, 'space', 'space.updated', 'space', $2 || g
         from generate_series(1, 12) g`,
        [tenantId, `r${part}-`],
      );
      await sealAll(engine.admin, { purge, secrets });
    }
    await engine.admin.query(
      `create function public.linger() returns trigger language plpgsql as
       $$ begin perform pg_sleep(0.005); return old; end $$`,
    );
    await engine.admin.query(
      `create trigger linger before delete on event_resource_counts for each row execute function public.linger()`,
    );
    const orm = createOrm({ url: engine.database.purgeUrl, statementTimeoutMs: 1_000 });
    try {
      const hasty = new UnitOfWork(orm);
      const round = await dropOldEvents(hasty, retentionDays, undefined, 20);
      expect(round).toMatchObject({ failed: 0, failedTenants: [], next: null });
      expect(round.dropped).toBeGreaterThanOrEqual(1);
    } finally {
      await orm.close(true);
      await engine.admin.query('drop function public.linger cascade');
    }
    expect(await oldRows(tenantId)).toEqual(none);
    const chains = await ask(
      `select checkpoint_seq::int as batches, checkpoint_count::int as events, checkpoint_head = head as whole,
         (select count(*)::int from event_seals s where s.tenant_id = c.tenant_id) as left
       from event_chains c where tenant_id = $1`,
      [tenantId],
    );
    expect(chains).toEqual([{ batches: 25, events: 300, whole: true, left: 0 }]);
    expect(await findingsOf(tenantId)).toEqual([]);
  });
});
