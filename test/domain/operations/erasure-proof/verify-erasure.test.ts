import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createProver, verifierEnvironment } from '#adapters/tenant-deletion/create-prover.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { addTables, openErasureWorld, type ErasureWorld } from '../../../support/erasure-world.ts';
import { connect } from '../../../support/tables.ts';
import { fillTenant } from '../../../support/tenant-rows.ts';
import { createWorld } from '../../../support/world.ts';

let world: ErasureWorld;
let verifier: Client;

beforeAll(async () => {
  world = await openErasureWorld();
  verifier = await connect(world.database.verifierUrl);
});
afterAll(async () => {
  await verifier?.end();
  await world?.stop();
});

const newTenant = async () => (await createWorld(world.database.unitOfWork)).tenantId;

describe('the verifier of an erasure', () => {
  it('counts the rows of every table that has a tenant, as they are', async () => {
    const tenantId = await newTenant();
    const counts = await fillTenant(world.admin, tenantId, 2);
    const { tables, clean, bytes } = await world.verify(tenantId);
    const seen = Object.fromEntries(
      Object.entries(tables).map(([name, rows]) => [name.replace('public.', ''), rows]),
    );
    expect(seen).toEqual(counts);
    expect(Math.min(...Object.values(tables))).toBeGreaterThan(0);
    expect({ clean, bytes }).toEqual({ clean: false, bytes: 2 });
  });

  it('finds what an erasure left out, whatever the erasure says', async () => {
    const tenantId = await newTenant();
    await fillTenant(world.admin, tenantId, 2);
    for (const step of await world.plan()) {
      // Its rows are the last that refer to the tenant.
      if (step.table === 'notified_periods' || step.table === 'tenants') continue;
      await world.eraseStep(step, tenantId);
    }
    const { tables, clean } = await world.verify(tenantId);
    expect(clean).toBe(false);
    expect(Object.entries(tables).filter(([, rows]) => rows > 0)).toEqual([
      ['public.notified_periods', 2],
      ['public.tenants', 1],
    ]);
  });

  it('finds ids of the tenant in rows that are not its own', async () => {
    const tenantId = await newTenant();
    const other = await newTenant();
    const id = '11111111-2222-4333-8444-555555555555';
    const none = (await world.verify(tenantId, [id])).shared;
    expect(Object.values(none).every((rows) => rows === 0)).toBe(true);
    await world.admin.query('insert into app.sweeps (name) values ($1)', [`sweep of ${tenantId}`]);
    await world.admin.query(
      `insert into outbox (tenant_id, id, kind, workflow_type, workflow_id, payload, claimed_until)
       values ($1, gen_random_uuid(), 'start', 't', 'w', jsonb_build_object('of', $2::text), now())`,
      [other, id],
    );
    expect((await world.verify(tenantId, [id])).shared).toMatchObject({
      'app.sweeps': 1,
      'public.outbox': 1,
    });
    expect((await world.verify(tenantId)).shared).toMatchObject({ 'app.sweeps': 1, 'public.outbox': 0 });
    await world.admin.query('delete from app.sweeps where name like $1', ['sweep of%']);
  });

  it('says so when it cannot see the rows of a table, and takes nothing for gone', async () => {
    const tenantId = await newTenant();
    await world.admin.query(
      `create table hidden (tenant_id uuid not null primary key); grant select on hidden to app_verifier;
       alter table hidden enable row level security`,
    );
    await world.admin.query('insert into hidden values ($1)', [tenantId]);
    await expect(world.verify(tenantId)).rejects.toThrow('cannot see the rows of public.hidden');
    await world.admin.query(
      'revoke all on hidden from app_verifier; alter table hidden disable row level security',
    );
    await expect(world.verify(tenantId)).rejects.toThrow('cannot see the rows of public.hidden');
    await addTables(world.admin, '', []);
    expect((await world.verify(tenantId)).tables['public.hidden']).toBe(1);
    await world.admin.query('drop table hidden');
  });

  it('counts the tables of the platform, and leaves other schemas of the database alone', async () => {
    const tenantId = await newTenant();
    await world.admin.query(
      'create schema foreign_tool; create table foreign_tool.kept (tenant_id uuid); create table foreign_tool.notes (t text)',
    );
    const { tables, shared } = await world.verify(tenantId);
    expect(Object.keys({ ...tables, ...shared }).filter((name) => name.includes('foreign_tool'))).toEqual([]);
    await world.admin.query('drop schema foreign_tool cascade');
  });

  it('names what keeps it from counting', { timeout: 30_000 }, async () => {
    const failure = (url: string | undefined) => createProver(url).verify(newId(), []);
    await expect(failure(undefined)).rejects.toMatchObject({ code: 'verifier_not_configured' });
    await expect(failure('postgres://app_verifier:v@127.0.0.1:1/none')).rejects.toMatchObject({
      code: 'verifier_unreachable',
    });
    // A role that may not read what the verifier reads.
    await expect(failure(world.database.url)).rejects.toMatchObject({ code: 'verifier_blind' });
    const env = { PGSSLROOTCERT: 'a', NODE_EXTRA_CA_CERTS: 'b', MASTER_KEY: 'c', DATABASE_URL: 'd' };
    expect(verifierEnvironment(env, 'e')).toEqual({
      PGSSLROOTCERT: 'a',
      NODE_EXTRA_CA_CERTS: 'b',
      DATABASE_VERIFIER_URL: 'e',
    });
  });

  it('works under a role that reads no content and writes nothing', async () => {
    const refused = (text: string) => expect(verifier.query(text)).rejects.toMatchObject({ code: '42501' });
    await refused('select name from principals');
    await refused('select * from items');
    await refused('select wrapped from data_keys');
    await refused(`delete from principals where tenant_id = '00000000-0000-0000-0000-000000000000'`);
    await refused(`insert into tenants (tenant_id, slug, name) values (gen_random_uuid(), 's', 'n')`);
    await refused('select app.claim_outbox(1)');
    const { rows } = await verifier.query(
      `select rolsuper or rolbypassrls or rolcreaterole as powerful from pg_roles where rolname = current_user`,
    );
    expect(rows).toEqual([{ powerful: false }]);
  });
});
