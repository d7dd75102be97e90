import type { Client } from 'pg';
import { expect, it } from 'vitest';
import { migrate, requireVersion } from '#domain/operations/schema/migrate.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { connect } from '../../../support/tables.ts';

const server = (version: string) =>
  ({ query: async () => ({ rows: [{ version }] }) }) as unknown as Pick<Client, 'query'>;

it.each(['PostgreSQL 17.6 on x86_64-pc-linux-gnu', 'PostgreSQL 9.6.24', 'CockroachDB CCL v25.1'])(
  'a migration refuses %s before it changes anything',
  async (version) => {
    await expect(requireVersion(server(version))).rejects.toThrow('PostgreSQL 18 or newer is needed');
  },
);

it.each(['PostgreSQL 18.4 (Debian 18.4-1.pgdg13+1) on x86_64', 'PostgreSQL 19beta1 on aarch64'])(
  'a migration works on %s',
  async (version) => {
    await expect(requireVersion(server(version))).resolves.toBeUndefined();
  },
);

const migrateAgain = ({ adminUrl, url, purgeUrl }: TestDatabase) =>
  migrate({ DATABASE_ADMIN_URL: adminUrl, DATABASE_URL: url, DATABASE_PURGE_URL: purgeUrl });

it('a second migration waits for no reader and changes no table', async () => {
  const database = await createTestDatabase();
  const [admin, dump] = [await connect(database.adminUrl), await connect(database.adminUrl)];
  const versions = async () =>
    (
      await admin.query<{ versions: string }>(
        `select md5(string_agg(c.oid || ' ' || c.xmin || a.xmin, ',' order by c.oid, a.attnum)) as versions
         from pg_class c join pg_attribute a on a.attrelid = c.oid
         where c.relnamespace in ('public'::regnamespace, 'app'::regnamespace)`,
      )
    ).rows[0]!.versions;
  try {
    // The template may be of yesterday, without the partitions of today.
    await migrateAgain(database);
    const before = await versions();
    await dump.query('begin; lock table tenants, documents, principals in access share mode');
    await migrateAgain(database);
    await dump.query('rollback');
    expect(await versions()).toBe(before);
  } finally {
    await Promise.all([admin.end(), dump.end()]);
    await database.drop();
  }
});

it('a migration leaves partitions that are due to the upkeep while the log is locked for long', async () => {
  const database = await createTestDatabase();
  const [admin, dump] = [await connect(database.adminUrl), await connect(database.adminUrl)];
  const partitions = async () =>
    (await admin.query(`select inhrelid::regclass from pg_inherits where inhparent = 'events'::regclass`))
      .rowCount;
  try {
    const all = await partitions();
    const { rows } = await admin.query<{ next: string }>(
      `select to_char(max(m) at time zone 'utc', '"events_"YYYYMM') as next from app.event_months() m`,
    );
    await admin.query(`drop table ${rows[0]!.next}`);
    await dump.query('begin; lock table events in access share mode');
    await migrateAgain(database);
    expect(await partitions()).toBe(all! - 1);
    await dump.query('rollback');
    await migrateAgain(database);
    expect(await partitions()).toBe(all);
  } finally {
    await Promise.all([admin.end(), dump.end()]);
    await database.drop();
  }
});
