import { spawnSync } from 'node:child_process';
import { chownSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { findSystemTool } from './executables.ts';
import { LaunchError } from './errors.ts';

/** How to run the database's programs: PostgreSQL refuses to run as root. */
export interface PostgresUser {
  prefix: readonly string[];
  uid?: number;
  gid?: number;
}

const NOBODY = 65534;

/** Decides once per start; `folder` is where the database lives and `probe` a program it must be able to run. */
export function choosePostgresUser(folder: string, probe: string): PostgresUser {
  if (process.getuid?.() !== 0) return { prefix: [] };
  const unshare = findSystemTool('unshare');
  if (unshare) {
    const prefix = [unshare, '--user', `--map-user=${NOBODY}`, `--map-group=${NOBODY}`];
    chownTree(folder, 0);
    if (runs([...prefix, probe, '--version'], {})) return { prefix };
  }
  const other = { uid: NOBODY, gid: NOBODY };
  chownTree(folder, NOBODY);
  if (runs([probe, '--version'], other) && reaches(folder, other)) return { prefix: [], ...other };
  throw new LaunchError(
    'PostgreSQL does not run as root and no other user can be taken here: start as an ordinary user, or set DATABASE_URL to an administrator of a PostgreSQL server.',
  );
}

function runs(command: readonly string[], as: { uid?: number; gid?: number }): boolean {
  const [program = '', ...args] = command;
  return spawnSync(program, args, { stdio: 'ignore', cwd: '/', ...as }).status === 0;
}

function reaches(folder: string, as: { uid: number; gid: number }): boolean {
  const check = 'require("node:fs").accessSync(process.argv[1], 7)';
  return runs([process.execPath, '-e', check, folder], as);
}

/** Changes the owner of everything below the folder; skipped when the folder already has the owner. */
function chownTree(path: string, uid: number): void {
  const entry = lstatSync(path);
  if (entry.uid === uid) return;
  if (entry.isDirectory()) for (const name of readdirSync(path)) chownTree(join(path, name), uid);
  // The folder itself last, so that an interrupted run is resumed.
  chownSync(path, uid, uid);
}
