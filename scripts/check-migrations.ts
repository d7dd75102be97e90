import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { migrate } from '#domain/operations/schema/migrate.ts';
import { createOrm } from '#domain/operations/schema/orm.ts';
import { newPassword } from '../bin/launcher/data-directory.ts';
import { startPostgres } from '../bin/launcher/postgres.ts';
import { compareSchema } from './check/compare-schema.ts';
import { readColumns } from './check/read-columns.ts';

/** Migrates an empty database and reports its differences from the entities. */
async function findDrift(adminUrl: string): Promise<string[]> {
  await migrate({
    DATABASE_ADMIN_URL: adminUrl,
    DATABASE_URL: loginAs(adminUrl, 'app_rt'),
    DATABASE_PURGE_URL: loginAs(adminUrl, 'app_purge'),
  });
  const orm = createOrm({ url: adminUrl, statementTimeoutMs: 30_000, poolSize: 1 });
  const client = new Client({ connectionString: adminUrl });
  await client.connect();
  try {
    return compareSchema([...orm.getMetadata().getAll().values()], await readColumns(client));
  } finally {
    await Promise.all([client.end(), orm.close(true)]);
  }
}

function loginAs(adminUrl: string, role: string): string {
  const url = new URL(adminUrl);
  url.username = role;
  url.password = newPassword();
  return url.href;
}

const folder = mkdtempSync(join(tmpdir(), 'platform-drift-'));
const postgres = await startPostgres({ dataDir: folder });
try {
  const differences = await findDrift(postgres.adminUrl);
  for (const line of differences) process.stdout.write(`${line}\n`);
  if (differences.length === 0) process.stdout.write('The migrated schema and the entities agree.\n');
  process.exitCode = differences.length === 0 ? 0 : 1;
} finally {
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
}
