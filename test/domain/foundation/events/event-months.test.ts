import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { verifyChain } from '#domain/foundation/events/verify-chain.ts';
import { maintainPartitions } from '#domain/operations/maintenance/maintain-partitions.ts';
import { openEngine, type Engine } from '../../../support/engine.ts';
import { idAt, sealAll } from '../../../support/event-log.ts';
import { Purge } from '../../../support/purge.ts';
import { sweepOnce } from '../../../support/sweeps.ts';
import { secrets } from '../../../support/world.ts';

let engine: Engine;
let purge: Purge;

beforeAll(async () => {
  engine = await openEngine();
  purge = new Purge(engine.database);
});
afterAll(async () => {
  await purge?.close();
  await engine?.stop();
});

const query = async <T extends object>(sql: string, values: unknown[] = []) =>
  (await engine.admin.query<T>(sql, values)).rows;
const maintain = () => sweepOnce(maintainPartitions, { purge });
/** `events_202611` for 0, and other months from this one. */
const month = async (from: number) =>
  (
    await query<{ name: string }>(
      `select to_char(now() at time zone 'utc' + make_interval(months => $1), '"events_"YYYYMM') as name`,
      [from],
    )
  )[0]!.name;
const partitions = async () =>
  (
    await query<{ name: string }>(
      `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'events'::regclass order by 1`,
    )
  ).map(({ name }) => name);
const heldBy = () =>
  query<{ name: string; n: number }>(
    'select tableoid::regclass::text as name, count(*)::int as n from events group by 1',
  );
const write = () =>
  engine.act(({ em, caller }) =>
    recordEvent(em, caller, {
      type: 'space.updated',
      resource: { type: 'space', id: engine.world.spaceId },
    }),
  );

/** As if no sweep had run on the log for three months. */
async function stopForMonths(): Promise<void> {
  await query('truncate events');
  for (const name of await partitions()) {
    if (/\d{6}$/.test(name)) await query(`drop table ${name}`);
  }
  await query(`select app.add_event_month(date_trunc('month', now(), 'UTC') - interval '3 months')`);
}

describe('the months of the log', () => {
  beforeEach(stopForMonths);

  it('take in events written while no month was created, as they were sealed', async () => {
    await write();
    await sealAll(engine.admin, { purge, secrets });
    await write();
    const before = await query('select * from events order by id');
    expect(await heldBy()).toEqual([{ name: 'events_future', n: before.length }]);
    await maintain();
    const all = await Promise.all([-3, -2, -1, 0, 1].map(month));
    expect(await partitions()).toEqual([...all, 'events_future', 'events_past']);
    expect(await heldBy()).toEqual([{ name: await month(0), n: before.length }]);
    expect(await query('select * from events order by id')).toEqual(before);
    await sealAll(engine.admin, { purge, secrets });
    const { findings, events, unsealed } = await verifyChain(query, engine.world.tenantId, {
      anchors: [],
      retentionDays: 365,
    });
    expect({ findings, events, unsealed }).toEqual({ findings: [], events: 2, unsealed: 0 });
  });

  it('leave no gap: events outside them are stored, too', async () => {
    await maintain();
    await maintain();
    for (const months of [0, -1, -4, -90, 1, 2, 50]) {
      await query(
        `insert into events (tenant_id, id, category, event_type, resource_type, resource_id)
         values ($1, ${idAt('now() + make_interval(months => $2)')}, 'space', 'space.updated', 'space', 'x')`,
        [engine.world.tenantId, months],
      );
    }
    const held = new Map((await heldBy()).map(({ name, n }) => [name, n]));
    expect([held.get('events_past'), held.get('events_future')]).toEqual([2, 2]);
    await query(`select app.drop_event_months(date_trunc('month', now(), 'UTC') - interval '1 month')`);
    const kept = await Promise.all([-1, 0, 1].map(month));
    expect(await partitions()).toEqual([...kept, 'events_future', 'events_past']);
    const { rowCount } = await engine.admin.query(
      `insert into events (tenant_id, id, category, event_type, resource_type, resource_id)
       values ($1, ${idAt("now() - interval '2 months'")}, 'space', 'space.updated', 'space', 'x')`,
      [engine.world.tenantId],
    );
    expect(rowCount).toBe(1);
  });

  it('are read from the newest on, no further than a page needs, under the same row-level security', async () => {
    await maintain();
    await query('begin');
    await query('set local enable_seqscan = off; set local enable_bitmapscan = off');
    const plan = await query<{ 'QUERY PLAN': string }>(
      `explain (costs off) select * from events where tenant_id = '${engine.world.tenantId}' order by id desc limit 20`,
    );
    await query('rollback');
    const steps = plan.map((row) => row['QUERY PLAN'].trim());
    expect(steps.filter((step) => /Append|Sort/.test(step))).toEqual(['->  Append']);
    const unprotected = await query(
      `select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
       where i.inhparent = 'events'::regclass and not (c.relrowsecurity and c.relforcerowsecurity)`,
    );
    expect(unprotected).toEqual([]);
    await write();
    const changing = query(`update events set event_type = 'space.created' where tenant_id = $1`, [
      engine.world.tenantId,
    ]);
    await expect(changing).rejects.toThrow('append-only');
  });
});
