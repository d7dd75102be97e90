import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { batchStatements } from '#domain/operations/erasure/batch-statements.ts';
import { eraseBatch } from '#domain/operations/erasure/erase-batch.ts';
import {
  addTables,
  checksumWithout,
  dumpRows,
  idsOf,
  openErasureWorld,
  type ErasureWorld,
} from '../../../support/erasure-world.ts';
import { pgDump } from '../../../support/pg-dump.ts';
import { connect } from '../../../support/tables.ts';
import { canaryOf, countTenantRows, danglingKeys, fillTenant } from '../../../support/tenant-rows.ts';
import { createWorld } from '../../../support/world.ts';

let world: ErasureWorld;

/** As later versions may add them; nothing of the erasure names them. */
const later = `
  create table later_notes (
    tenant_id uuid not null references tenants, id uuid not null, space_id uuid not null, text text not null,
    primary key (tenant_id, id), foreign key (tenant_id, space_id) references spaces);
  create table ring_a (
    tenant_id uuid not null references tenants, id uuid not null, b_id uuid, primary key (tenant_id, id));
  create table ring_b (
    tenant_id uuid not null references tenants, id uuid not null, a_id uuid, primary key (tenant_id, id),
    foreign key (tenant_id, a_id) references ring_a);
  alter table ring_a add foreign key (tenant_id, b_id) references ring_b;
  create table trees (
    tenant_id uuid not null references tenants, n integer not null, above integer,
    primary key (tenant_id, n), foreign key (tenant_id, above) references trees);
  create table keyless (tenant_id uuid not null references tenants, text text);`;
const laterTables = ['later_notes', 'ring_a', 'ring_b', 'trees', 'keyless'];

beforeAll(async () => {
  world = await openErasureWorld();
  await addTables(world.admin, later, laterTables);
});
afterAll(() => world?.stop());

/** A tenant with rows in every table, as many as some batches take. */
async function filled(rows: number): Promise<{ tenantId: string; counts: Record<string, number> }> {
  const { tenantId } = await createWorld(world.database.unitOfWork);
  await fillTenant(world.admin, tenantId, rows);
  // A row of a tree refers to a later one, against the order in which they are erased, and a ring closes.
  await world.admin.query(`update trees set above = nullif(n + 1, $2) where tenant_id = $1`, [
    tenantId,
    rows + 1,
  ]);
  await world.admin.query(
    `update ring_a a set b_id = b.id from ring_b b where b.tenant_id = $1 and a.tenant_id = $1 and b.a_id = a.id`,
    [tenantId],
  );
  const counts = await countTenantRows(world.admin, tenantId);
  expect(Object.keys(counts).filter((table) => counts[table] === 0)).toEqual([]);
  expect(await danglingKeys(world.admin)).toEqual([]);
  return { tenantId, counts };
}

/** The canary in a text, and in bytes. */
const formsOf = (tenantId: string): string[] => {
  const canary = canaryOf(tenantId);
  return [canary, Buffer.from(canary).toString('hex')];
};

const remaining = async (tenantId: string) =>
  Object.entries(await countTenantRows(world.admin, tenantId)).filter(([, rows]) => rows > 0);

describe('the erasure of a tenant with rows in every table', () => {
  it('leaves nothing of it anywhere, also not in tables that were added later, and everything of others', async () => {
    const gone = await filled(70);
    const kept = await filled(3);
    const ids = await idsOf(world.admin, gone.tenantId);
    expect(ids.length).toBeGreaterThan(3_000);
    const others = await checksumWithout(world.admin, gone.tenantId);
    const before = await world.verify(gone.tenantId);
    expect(before.clean).toBe(false);
    const plan = await world.plan();
    const deleted = plan.filter(({ kind }) => kind === 'delete');
    const counted = deleted.map(({ table }) => [table, before.tables[`public.${table}`]]);
    expect(Object.fromEntries(counted)).toEqual(gone.counts);
    for (const table of laterTables) expect(gone.counts[table]).toBeGreaterThan(0);
    await world.erase(gone.tenantId);
    expect(await remaining(gone.tenantId)).toEqual([]);
    expect(await world.verify(gone.tenantId, ids.slice(0, 100))).toMatchObject({ clean: true, bytes: 0 });
    const dump = await dumpRows(world.admin);
    expect(ids.filter((id) => dump.includes(id))).toEqual([]);
    for (const form of formsOf(gone.tenantId)) expect(dump).not.toContain(form);
    expect(await checksumWithout(world.admin, gone.tenantId)).toEqual(others);
    expect(await countTenantRows(world.admin, kept.tenantId)).toEqual(kept.counts);
    for (const form of formsOf(kept.tenantId)) expect(dump).toContain(form);
    // Repeated, it finds nothing to do.
    for (const step of plan) {
      expect(await eraseBatch(world.roles, gone.tenantId, step, { cursor: null, note: null })).toEqual({
        rows: 0,
        cursor: null,
      });
    }
  });

  it('leaves nothing in what pg_dump writes', async (context) => {
    const [gone, kept] = [await filled(20), await filled(3)];
    const ids = await idsOf(world.admin, gone.tenantId);
    await world.erase(gone.tenantId);
    const dumped = await pgDump(world.database.adminUrl);
    if ('missing' in dumped) return context.skip(dumped.missing);
    expect(ids.filter((id) => dumped.text.includes(id))).toEqual([]);
    for (const form of formsOf(gone.tenantId)) expect(dumped.text.includes(form)).toBe(false);
    for (const form of formsOf(kept.tenantId)) expect(dumped.text.includes(form)).toBe(true);
  });

  it('goes on where a kill stopped it, with its cursor or without', async () => {
    const gone = await filled(40);
    const others = await checksumWithout(world.admin, gone.tenantId);
    let kills = 0;
    for (const [n, step] of (await world.plan()).entries()) {
      let cursor: string | null = null;
      for (let batch = 0; ; batch += 1) {
        const killed = batch === 0 && n % 4 === 0 ? killSessions() : undefined;
        try {
          ({ cursor } = await eraseBatch(world.roles, gone.tenantId, step, { cursor, note: null }));
          if (cursor === null) break;
        } catch (error) {
          kills += 1;
          if (batch > 200) throw error;
          cursor = kills % 2 === 0 ? cursor : null;
        }
        await killed;
      }
    }
    expect(kills).toBeGreaterThan(0);
    expect(await remaining(gone.tenantId)).toEqual([]);
    expect(await checksumWithout(world.admin, gone.tenantId)).toEqual(others);
  });
});

it('checks the foreign keys of a row by their indexes, however small the tables are', async () => {
  const { tenantId } = await filled(2);
  const steps = await world.plan();
  const last = steps.pop()!;
  for (const step of steps) await world.eraseStep(step, tenantId);
  await world.admin.query('analyze');
  const { find, erase } = batchStatements(last, false);
  // A session of its own has counted nothing before.
  const session = await connect(world.database.purgeUrl);
  await session.query('begin');
  await session.query(
    `select from app.erase_batch($1, $2, $3, null, 1, null, 25, true, null, null, 'tenants')`,
    [tenantId, find, erase],
  );
  const { rows: read } = await session.query<{ name: string }>(
    'select relname as name from pg_stat_xact_user_tables where seq_scan > 0',
  );
  await session.query('commit');
  await session.end();
  // It has no index.
  expect(read).toEqual([{ name: 'keyless' }]);
  expect(await remaining(tenantId)).toEqual([]);
});

it('a dump reads what lies outside of tables, too', async () => {
  const { admin } = world;
  await admin.query(`select lo_from_bytea(0, convert_to('in-a-large-object', 'UTF8'))`);
  await admin.query(`create schema aside; create table aside.notes as select 'in-another-schema' as text;
    create materialized view seen as select 'in-' || 'a-view' as text;
    comment on table aside.notes is 'in-a-comment'`);
  const dump = await dumpRows(admin);
  await admin.query('drop schema aside cascade; drop materialized view seen');
  for (const text of ['in-another-schema', 'in-a-view', 'in-a-comment']) expect(dump).toContain(text);
  expect(dump).toContain(Buffer.from('in-a-large-object').toString('hex'));
});

/** Ends every session of the purge role, in mid-transaction where it is in one. */
async function killSessions(): Promise<void> {
  await world.admin.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and usename = 'app_purge'`,
  );
}

describe('a batch', () => {
  it('that would hold its locks for long is undone and tried smaller', async () => {
    const { tenantId } = await createWorld(world.database.unitOfWork);
    await addTables(
      world.admin,
      `create table slow (tenant_id uuid not null references tenants, n integer not null, primary key (tenant_id, n));
       create function slow_delete() returns trigger language plpgsql as 'begin perform pg_sleep(0.03); return old; end';
       create trigger slow before delete on slow for each row execute function slow_delete();`,
      ['slow'],
    );
    await world.admin.query('insert into slow select $1, n from generate_series(1, 12) n', [tenantId]);
    const step = (await world.plan()).find(({ table }) => table === 'slow')!;
    const sizes = await world.eraseStep(step, tenantId);
    expect(sizes.reduce((sum, rows) => sum + rows, 0)).toBe(12);
    // 30 ms a row: more than two rows would hold their locks for over 75 ms.
    expect(Math.max(...sizes)).toBeLessThanOrEqual(2);
    await world.admin.query('drop table slow; drop function slow_delete()');
  });

  it('in a table of quick rows takes many of them', async () => {
    const { tenantId } = await createWorld(world.database.unitOfWork);
    await world.admin.query(
      `insert into notified_periods (tenant_id, key) select $1, n::text from generate_series(1, 3000) n`,
      [tenantId],
    );
    const step = (await world.plan()).find(({ name }) => name === 'delete notified_periods')!;
    const sizes = await world.eraseStep(step, tenantId);
    expect(sizes.reduce((sum, rows) => sum + rows, 0)).toBe(3_000);
    expect(Math.max(...sizes)).toBeGreaterThan(64);
  });
});

describe('a partition', () => {
  const insert = (tenantId: string, rows: number) =>
    world.admin.query(
      `insert into stream_runs select $1, 'resp_' || n, n, 1, '{}', now() + interval '5 years' from generate_series(1, $2::int) n`,
      [tenantId, rows],
    );
  const rowsIn = async (partition: string) =>
    (await world.admin.query<{ n: number }>(`select count(*)::int as n from ${partition}`)).rows[0]!.n;
  const empty = async (tenantId: string) => {
    const step = (await world.plan()).find(({ name }) => name === 'truncate stream_runs_default')!;
    return eraseBatch(world.roles, tenantId, step, { cursor: null, note: null });
  };

  it('that holds one tenant alone is emptied at once, and another is not touched', async () => {
    const gone = await createWorld(world.database.unitOfWork);
    const kept = await createWorld(world.database.unitOfWork);
    await insert(gone.tenantId, 50);
    await insert(kept.tenantId, 1);
    expect(await empty(gone.tenantId)).toEqual({ rows: 0, cursor: null });
    expect(await rowsIn('stream_runs_default')).toBe(51);
    await world.admin.query('delete from stream_runs where tenant_id = $1', [kept.tenantId]);
    expect(await empty(kept.tenantId)).toEqual({ rows: 0, cursor: null });
    expect(await empty(gone.tenantId)).toEqual({ rows: 50, cursor: null });
    expect(await rowsIn('stream_runs_default')).toBe(0);
  });

  it('that is in use is left to the deletion of its rows, within the time that a lock may wait', async () => {
    const gone = await createWorld(world.database.unitOfWork);
    await insert(gone.tenantId, 5);
    await world.admin.query('begin');
    await world.admin.query('lock table stream_runs_default in access share mode');
    const begun = performance.now();
    expect(await empty(gone.tenantId)).toEqual({ rows: 0, cursor: null });
    expect(performance.now() - begun).toBeLessThan(5_000);
    await world.admin.query('rollback');
    expect(await rowsIn('stream_runs_default')).toBe(5);
    await world.erase(gone.tenantId);
    expect(await rowsIn('stream_runs_default')).toBe(0);
  });
});
