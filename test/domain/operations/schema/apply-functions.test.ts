import type { MikroORM } from '@mikro-orm/postgresql';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  applyFunctions,
  readFunctionFiles,
  type FunctionFile,
} from '#domain/operations/schema/apply-functions.ts';
import { createOrm } from '#domain/operations/schema/orm.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';

let database: TestDatabase;
let orm: MikroORM;

beforeAll(async () => {
  database = await createTestDatabase();
  orm = createOrm({ url: database.adminUrl, statementTimeoutMs: 10_000 });
});
afterAll(async () => {
  await orm?.close(true);
  await database?.drop();
});

/** One migration with one more file of functions, which reads `sql`, by a login with a search path of its own. */
function applyWith(sql: string | null, path = '"$user", public'): Promise<string[]> {
  const extra: FunctionFile[] = sql === null ? [] : [{ name: 'zoo.sql', sql }];
  const connection = orm.em.getConnection();
  return connection.transactional(async (transaction) => {
    await connection.execute(`set local search_path = ${path}`, [], 'run', transaction);
    return applyFunctions(
      (text, params) => connection.execute(text, params, 'all', transaction),
      [...readFunctionFiles(), ...extra],
    );
  });
}

/** Signature, owner and callers of the functions of that file. */
async function zoo(): Promise<string[]> {
  const rows = await orm.em.getConnection().execute<{ line: string }[]>(
    `select format('%s %s %s', oid::regprocedure, proowner::regrole,
       (select string_agg(grantee::regrole::text, ',' order by grantee::regrole::text) from aclexplode(proacl) a where grantee <> proowner)) as line
     from pg_proc where pronamespace = 'app'::regnamespace and proname like 'zoo%' order by 1`,
  );
  return rows.map(({ line }) => line);
}

const invoker = (name: string, args: string) =>
  `create or replace function app.${name}(${args}) returns int language sql as 'select 1';\n`;
const definer = (name: string, settings: string) =>
  `create or replace function app.${name}() returns int language sql security definer ${settings} as 'select 1';\n`;
const path = 'set search_path = pg_catalog, public, pg_temp';

it('a database that is up to date runs no file', async () => {
  expect(await applyWith(null)).toEqual([]);
});

it.each(['app, public', 'pg_catalog'])('a login with the search path %s drops no function', async (own) => {
  const count = async () => {
    const rows = await orm.em
      .getConnection()
      .execute<{ n: number }[]>(
        `select count(*)::int as n from pg_proc where pronamespace = 'app'::regnamespace`,
      );
    return rows[0]?.n;
  };
  const before = await count();
  expect(await applyWith(null, own)).toEqual([]);
  expect(await count()).toBe(before);
});

it('owner and callers follow from the kind of a function, and a file names its exceptions', async () => {
  const sql = invoker('zoo_one', 'p_tenant uuid') + definer('zoo_two', path);
  expect(await applyWith(sql)).toEqual(['zoo.sql']);
  const usual = ['zoo_one(uuid) app_owner app_purge,app_rt', 'zoo_two() app_system app_purge,app_rt'];
  expect(await zoo()).toEqual(usual.map((line) => `app.${line}`));
  await applyWith(`${sql}select pg_temp.secure_function('app.zoo_two()', 'app_owner', '{app_purge}');\n`);
  expect((await zoo())[1]).toBe('app.zoo_two() app_owner app_purge');
  await applyWith(sql);
  expect(await zoo()).toEqual(usual.map((line) => `app.${line}`));
});

it('an overload stands beside the old signature until the file defines that no more', async () => {
  const [old, next] = [invoker('zoo_one', 'p_tenant uuid'), invoker('zoo_one', 'p_tenant uuid, p_limit int')];
  const signatures = async () => (await zoo()).map((line) => line.split(' ')[0]);
  await applyWith(old);
  await applyWith(old + next);
  expect(await signatures()).toEqual(['app.zoo_one(uuid)', 'app.zoo_one(uuid,integer)']);
  await applyWith(next);
  expect(await signatures()).toEqual(['app.zoo_one(uuid,integer)']);
  await applyWith(null);
  expect(await signatures()).toEqual([]);
});

it('a function that a trigger needs stays, as when an older version migrates a newer database', async () => {
  const connection = orm.em.getConnection();
  await connection.execute(
    `create function app.zoo_trigger() returns trigger language plpgsql as 'begin return null; end';
     create trigger zoo after delete on spaces for each row execute function app.zoo_trigger()`,
  );
  await applyWith(null);
  expect(await zoo()).toHaveLength(1);
  await connection.execute('drop trigger zoo on spaces');
  await applyWith(null);
  expect(await zoo()).toEqual([]);
});

it.each([
  ['without its search_path', definer('zoo_two', ''), 'must set search_path'],
  [
    'with another result than before',
    invoker('zoo_one', 'p_tenant uuid').replace('int', 'text'),
    'cannot change return type',
  ],
])('a function %s is refused, and nothing of the migration remains', async (_, sql, reason) => {
  await applyWith(invoker('zoo_one', 'p_tenant uuid'));
  const before = await zoo();
  await expect(applyWith(invoker('zoo_three', '') + sql)).rejects.toThrow(reason);
  expect(await zoo()).toEqual(before);
  await applyWith(null);
});
