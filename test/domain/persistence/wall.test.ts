import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createWorld } from '../../support/world.ts';
import { openEngine, type Engine } from '../../support/engine.ts';

let engine: Engine;

beforeAll(async () => {
  engine = await openEngine();
  await engine.create();
});
afterAll(() => engine.stop());

interface Walled {
  name: string;
  forced: boolean;
  policies: string[];
}

describe('the wall', () => {
  it('forces row-level security on every table and partition that holds a tenant', async () => {
    const { rows } = await engine.admin.query<Walled>(
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
});
