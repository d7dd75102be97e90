import { Client, type QueryResult } from 'pg';
import { expect, inject, test } from 'vitest';
import { Connection } from '@temporalio/client';
import { createTestDatabase } from '#test/support/database.ts';

async function ask<Row extends object>(url: string, text: string): Promise<QueryResult<Row>> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await client.query<Row>(text);
  } finally {
    await client.end();
  }
}

test('two test databases are migrated, separate and gone after their drop', async () => {
  const [one, other] = await Promise.all([createTestDatabase(), createTestDatabase()]);
  await ask(one.adminUrl, `insert into tenants (tenant_id, slug, name) values (gen_random_uuid(), 'a', 'A')`);
  expect((await ask(one.adminUrl, 'select from tenants')).rowCount).toBe(1);
  expect((await ask(other.adminUrl, 'select from tenants')).rowCount).toBe(0);
  const { adminUrl } = one;
  await Promise.all([one.drop(), other.drop()]);
  await expect(ask(adminUrl, 'select 1')).rejects.toThrow('does not exist');
});

test('the pools of a test database work as app_rt, which owns nothing', async () => {
  const db = await createTestDatabase();
  try {
    await db.database.assertRestrictedRole();
    const [row] = await db.database.call<{ who: string }>('who', 'select current_user as who', []);
    expect(row).toEqual({ who: 'app_rt' });
    expect((await ask(db.purgeUrl, 'select current_user as who')).rows).toEqual([{ who: 'app_purge' }]);
    expect(await db.orm.em.fork().execute('select current_user as who')).toEqual([{ who: 'app_rt' }]);
  } finally {
    await db.drop();
  }
});

test('the test server is durable and takes 300 connections', async () => {
  const { rows } = await ask(
    inject('postgres').adminUrl,
    `select name, setting from pg_settings where name in ('fsync', 'max_connections') order by name`,
  );
  expect(rows).toEqual([
    { name: 'fsync', setting: 'on' },
    { name: 'max_connections', setting: '300' },
  ]);
});

test('the workflow server answers with our search attributes', async () => {
  const { address, namespace } = inject('temporal');
  const connection = await Connection.connect({ address });
  try {
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
    expect(customAttributes).toMatchObject({ TenantId: 2, SpaceId: 2 });
  } finally {
    await connection.close();
  }
});
