import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { migrate } from '#domain/operations/schema/migrate.ts';
import { startPostgres, type RunningPostgres } from '../../../../bin/launcher/postgres.ts';
import { createDatabase } from '../../../support/database-admin.ts';
import { databaseUrl, withRole } from '../../../support/database-urls.ts';
import { connect } from '../../../support/tables.ts';

const folder = mkdtempSync(join(tmpdir(), 'logins-'));
let postgres: RunningPostgres;

beforeAll(async () => {
  postgres = await startPostgres({ dataDir: folder });
  await createDatabase(postgres.adminUrl, { name: 'second' });
});
afterAll(async () => {
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const password = () => randomBytes(8).toString('hex');
const [first, second] = [password(), password()];
const place = (name: string, secret: string) => {
  const adminUrl = databaseUrl(postgres.adminUrl, name);
  return {
    DATABASE_ADMIN_URL: adminUrl,
    DATABASE_URL: withRole(adminUrl, 'app_rt', secret),
    DATABASE_PURGE_URL: withRole(adminUrl, 'app_purge', secret),
  };
};
const logsIn = async (secret: string) => {
  const client = await connect(place('platform', secret).DATABASE_URL);
  await client.end();
  return true;
};

it('a migration of a second database leaves the logins of the first their passwords', async () => {
  await migrate(place('platform', first));
  await expect(migrate(place('second', second))).rejects.toThrow(
    'The login app_rt has another password than DATABASE_URL, and the database platform of this server uses it',
  );
  expect(await logsIn(first)).toBe(true);
  // Nothing was changed before the refusal.
  const admin = await connect(databaseUrl(postgres.adminUrl, 'second'));
  expect((await admin.query(`select to_regnamespace('app') as app`)).rows).toEqual([{ app: null }]);
  await admin.end();
});

it('two databases of a server share the logins with one password, and it is changed when asked for', async () => {
  await migrate(place('second', first));
  expect(await logsIn(first)).toBe(true);
  await migrate({ ...place('second', second), CHANGE_LOGIN_PASSWORDS: true });
  expect(await logsIn(second)).toBe(true);
});

it('migrations of two databases wait for each other', async () => {
  const holder = await connect(databaseUrl(postgres.adminUrl, 'postgres'));
  await holder.query('select pg_advisory_lock(7205759)');
  let ended = false;
  const migration = migrate(place('platform', second)).finally(() => (ended = true));
  await expect
    .poll(
      async () =>
        (await holder.query(`select from pg_locks where locktype = 'advisory' and not granted`)).rowCount,
      {
        timeout: 10_000,
      },
    )
    .toBe(1);
  expect(ended).toBe(false);
  await holder.query('select pg_advisory_unlock(7205759)');
  await migration;
  await holder.end();
});
