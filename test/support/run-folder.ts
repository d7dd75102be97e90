import { accessSync, constants, mkdirSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAlive } from '../../bin/launcher/processes.ts';

export interface RunFolder {
  path: string;
  remove: () => void;
}

/** A file system in memory: to copy a database there takes a tenth of the time that a disk takes. */
const memory = '/dev/shm';
/** A run takes a third of it at most. */
const roomBytes = 3 * 2 ** 30;
const named = /^platform-run-(\d+)$/;

/** For what a run and its processes keep in files, their servers' data first of all. */
export function makeRunFolder(): RunFolder {
  const parent = hasRoom(memory) ? memory : tmpdir();
  for (const left of readdirSync(parent)) {
    // Of a run that was killed, and could not remove it.
    if (named.test(left) && !isAlive(Number(named.exec(left)![1]))) remove(join(parent, left));
  }
  const path = join(parent, `platform-run-${process.pid}`);
  mkdirSync(path, { mode: 0o700 });
  return { path, remove: () => remove(path) };
}

function hasRoom(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize > roomBytes;
  } catch {
    return false;
  }
}

function remove(path: string): void {
  rmSync(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
}
