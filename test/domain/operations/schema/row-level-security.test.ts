import type { Client, DatabaseError } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { createWorld } from '../../../support/world.ts';
import { openEngine, type Engine } from '../../../support/engine.ts';

let engine: Engine;

beforeAll(async () => {
  engine = await openEngine();
  await engine.create();
});
afterAll(() => engine.stop());

interface ProtectedTable {
  name: string;
  forced: boolean;
  policies: string[];
}

describe('tenant isolation', () => {
  it('forces row-level security on every table and partition that holds a tenant', async () => {
    const { rows } = await engine.admin.query<ProtectedTable>(
      `select c.relname as name, c.relrowsecurity and c.relforcerowsecurity as forced,
         array(select p.polname::text from pg_policy p where p.polrelid = c.oid order by 1) as policies
       from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
         and exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id')
       order by 1`,
    );
    expect(rows.length).toBeGreaterThan(20);
    expect(rows.filter((row) => !row.forced).map((row) => row.name)).toEqual([]);
    const partition = /_(default|\d{6,8})$/;
    const open = rows.filter(({ name }) => !partition.test(name));
    expect(open.filter((row) => !row.policies.includes('runtime')).map((row) => row.name)).toEqual([]);
  });

  it('shows the runtime role no row without a tenant, and none of another tenant', async () => {
    const other = await createWorld(engine.database.unitOfWork);
    const client = engine.database.database.newClient();
    await client.connect();
    try {
      const { rows: tables } = await engine.admin.query<{ name: string }>(
        `select c.relname as name from pg_class c where c.relnamespace = 'public'::regnamespace
           and c.relkind in ('r', 'p') and not c.relispartition
           and exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id')`,
      );
      for (const { name } of tables) {
        await client.query(`select set_config('app.tenant_id', '', false)`);
        expect({ name, rows: (await client.query(`select from ${name}`)).rowCount }).toEqual({
          name,
          rows: 0,
        });
        await client.query(`select set_config('app.tenant_id', $1, false)`, [other.tenantId]);
        const { rows } = await client.query<{ tenant_id: string }>(`select tenant_id from ${name}`);
        expect(rows.filter((row) => row.tenant_id !== other.tenantId)).toEqual([]);
      }
    } finally {
      await client.end();
    }
  });

  it('accepts a row with an id of another tenant like any new row', async () => {
    const other = await createWorld(engine.database.unitOfWork);
    const { tenantId, owner } = engine.world;
    const taken = { principal: other.owner.principalId, space: other.spaceId, model: other.modelIds[0]! };
    for (const { principal, space, model } of [
      taken,
      { principal: newId(), space: newId(), model: newId() },
    ]) {
      const rows: [table: string, columns: string, values: string[]][] = [
        ['principals', 'id, type', [principal, 'user']],
        ['spaces', 'id, name', [space, 'Space']],
        ['space_members', 'space_id, principal_id', [space, principal]],
        ['role_assignments', 'principal_id, role_key', [owner.principalId, `role-${principal}`]],
        ['space_models', 'space_id, model_id', [space, engine.world.modelIds[0]!]],
        [
          'models',
          'id, alias, provider_kind, provider_model, continuation, context_window, max_output_tokens',
          [model, `alias-${model}`, 'builtin', 'builtin', 'none', '1', '1'],
        ],
      ];
      await inTenant(tenantId, async (client) => {
        for (const [table, columns, values] of rows) {
          expect(await attempt(client, table, columns, [tenantId, ...values]), table).toBe('taken');
        }
      });
    }
  });

  it('refuses a reference to another tenant’s row, and a row in its name, as for a missing row', async () => {
    const other = await createWorld(engine.database.unitOfWork);
    const { tenantId, spaceId, owner } = engine.world;
    const links: [table: string, columns: string, values: (id: string) => string[], theirs: string][] = [
      ['space_members', 'space_id, principal_id', (id) => [id, owner.principalId], other.spaceId],
      ['space_members', 'space_id, principal_id', (id) => [spaceId, id], other.owner.principalId],
      ['space_models', 'space_id, model_id', (id) => [spaceId, id], other.modelIds[0]!],
      ['role_assignments', 'principal_id, role_key', (id) => [id, 'admin'], other.owner.principalId],
    ];
    await inTenant(tenantId, async (client) => {
      for (const [table, columns, values, theirs] of links) {
        const link = async (id: string) =>
          (await attempt(client, table, columns, [tenantId, ...values(id)])).replace(id, 'id');
        const foreign = await link(theirs);
        expect(foreign, table).toMatch(/^23503 .*is not present/);
        expect(foreign, table).toBe(await link(newId()));
      }
      const inTheirName = (id: string) =>
        attempt(client, 'spaces', 'id, name', [other.tenantId, id, 'Space']);
      const there = await inTheirName(other.spaceId);
      expect(there).toMatch(/^42501 .*row-level security/);
      expect(there).toBe(await inTheirName(newId()));
    });
  });
});

/** A transaction of the runtime role that is rolled back. */
async function inTenant(tenantId: string, work: (client: Client) => Promise<void>): Promise<void> {
  const client = engine.database.database.newClient();
  await client.connect();
  try {
    await client.query('begin');
    await client.query(`select set_config('app.tenant_id', $1, true)`, [tenantId]);
    await work(client);
  } finally {
    await client.end();
  }
}

/** @returns `taken`, or the complete error of PostgreSQL */
async function attempt(client: Client, table: string, columns: string, values: string[]): Promise<string> {
  const places = values.map((_, place) => `$${place + 1}`).join(', ');
  await client.query('savepoint before');
  try {
    await client.query(`insert into ${table} (tenant_id, ${columns}) values (${places})`, values);
    return 'taken';
  } catch (error) {
    await client.query('rollback to savepoint before');
    const { code, message, detail, constraint } = error as DatabaseError;
    return `${code} ${message} ${detail} ${constraint}`;
  }
}
