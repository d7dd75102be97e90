import type { Client } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { maintainPartitions } from '#domain/operations/maintenance/maintain-partitions.ts';
import { openEngine, type Engine } from '../../../support/engine.ts';
import { Purge } from '../../../support/purge.ts';
import { sweepOnce } from '../../../support/sweeps.ts';
import { connect } from '../../../support/tables.ts';

let engine: Engine;
let purge: Purge;
const open: Client[] = [];

beforeAll(async () => {
  engine = await openEngine();
  purge = new Purge(engine.database);
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((client) => client.end()));
  await sweepOnce(maintainPartitions, { purge });
});
afterAll(async () => {
  await purge?.close();
  await engine?.stop();
});

async function session(url: string): Promise<Client> {
  const client = await connect(url);
  open.push(client);
  return client;
}

/** Reads a table in a transaction that stays open. */
async function readerOf(table: string): Promise<Client> {
  const reader = await session(engine.database.adminUrl);
  await reader.query('begin');
  await reader.query(`select count(*) from ${table}`);
  return reader;
}

const nameOf = async (sql: string) =>
  (await engine.admin.query<{ name: string }>(`select ${sql} as name`)).rows[0]!.name;
const isWaiting = async (who: string) =>
  (
    await engine.admin.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and ${who}`,
    )
  ).rowCount === 1;
const isThere = async (table: string) =>
  (await engine.admin.query('select where to_regclass($1) is not null', [table])).rowCount === 1;

const farthest = `(select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
  where i.inhparent = 'stream_runs'::regclass and c.relname ~ '\\d{8}$' order by 1 desc limit 1)`;
const nextMonth = `'events_' || to_char(now() at time zone 'utc' + interval '1 month', 'YYYYMM')`;

/**
 * A daily partition whose retention is over, with one run in it.
 * @returns its partition
 */
async function addOldDay(): Promise<string> {
  const day = `(now() at time zone 'utc')::date - 3`;
  await engine.admin.query(`select app.add_stream_day(${day})`);
  await engine.admin.query(
    `insert into stream_runs (tenant_id, response_id, first_n, n, events, expires_at)
     values ($1, 'resp_old', 0, 1, '{}', (${day})::timestamp at time zone 'utc')`,
    [engine.world.tenantId],
  );
  return nameOf(`'stream_runs_' || to_char(${day}, 'YYYYMMDD')`);
}

describe.each([
  ['made', async () => void (await engine.admin.query(`drop table ${await nameOf(farthest)}`))],
  ['freed', async () => void (await addOldDay())],
])('a daily partition that is to be %s', (_what, arrange) => {
  it('waits for a reader without blocking a writer', async () => {
    await arrange();
    const attempt = await engine.attempt(await engine.create());
    const reader = await readerOf('stream_runs');
    // The same change as upkeep makes, but with a long lock timeout.
    const patient = await session(engine.database.purgeUrl);
    const { rows } = await patient.query<{ pid: number }>(
      `select pg_backend_pid() as pid, set_config('lock_timeout', '0', false), set_config('statement_timeout', '0', false)`,
    );
    const state = { changed: false };
    const change = patient.query('select app.maintain_partitions()').then(() => (state.changed = true));
    await expect.poll(() => isWaiting(`pid = ${rows[0]!.pid}`)).toBe(true);
    await attempt.say('Half');
    await engine.create();
    expect(state.changed).toBe(false);
    await reader.query('commit');
    await change;
  });
});

describe('upkeep of partitions', () => {
  it('does not block writes to the log while a reader blocks it, and creates the month after both', async () => {
    const month = await nameOf(nextMonth);
    await engine.admin.query(
      `select app.open_event_months(); drop table ${month}; select app.join_event_months()`,
    );
    const reader = await readerOf('events');
    // Behind a change with the pool's own lock timeout of two seconds a write would wait longer than this.
    const write = () =>
      engine.act(async ({ em, caller }) => {
        await em.execute(`set local lock_timeout = '1s'`);
        await recordEvent(em, caller, {
          type: 'space.updated',
          resource: { type: 'space', id: engine.world.spaceId },
        });
      });
    const state = { done: false };
    const maintained = sweepOnce(maintainPartitions, { purge }).finally(() => (state.done = true));
    await expect.poll(() => isWaiting(`usename like 'app_purge%'`), { interval: 5 }).toBe(true);
    // The reader stays open until these writes are committed.
    for (let n = 0; n < 5; n += 1) await write();
    await reader.query('commit');
    // A request reads its tenant before it writes the log, so neither may block the other.
    while (!state.done) await write();
    expect(await maintained).toMatchObject({ failed: 0 });
    expect(await isThere(month)).toBe(true);
  });

  it('creates partitions as far ahead as responses are kept, plus two days', async () => {
    const id = await engine.create();
    await engine.admin.query(`update response_ids set expires_at = now() + interval '9 days' where id = $1`, [
      id,
    ]);
    await sweepOnce(maintainPartitions, { purge });
    const days = await engine.admin.query<{ n: number }>(
      `select d - today as n from app.stream_days() d, date(now() at time zone 'utc') today where d >= today order by 1`,
    );
    expect(days.rows.map(({ n }) => n)).toEqual(Array.from({ length: 12 }, (_, n) => n));
  });

  it('keeps an expired partition until all of its responses have ended, and then drops it', async () => {
    const day = await addOldDay();
    const id = await engine.create();
    await engine.admin.query(`update responses set expires_at = now() - interval '3 days' where id = $1`, [
      id,
    ]);
    await sweepOnce(maintainPartitions, { purge });
    expect(await isThere(day)).toBe(true);
    await engine.admin.query(`update responses set status = 'cancelled', finished_at = now() where id = $1`, [
      id,
    ]);
    await sweepOnce(maintainPartitions, { purge });
    expect(await isThere(day)).toBe(false);
  });
});
