import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Lock {
  release(): void;
}

const SQLITE_BUSY = 5;

/**
 * Takes an exclusive lock on a file, or returns undefined when another process holds it.
 *
 * An SQLite transaction holds the lock, so the kernel releases it however the holder dies. The file stays
 * behind on purpose: removing it would let two processes hold locks on two files of one name.
 */
export function tryLock(path: string): Lock | undefined {
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    // Nothing is ever written: no journal beside the file.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY) return undefined;
    throw error;
  }
  return { release: () => database.close() };
}

/** Waits until the lock is free. */
export async function lock(path: string, signal?: AbortSignal): Promise<Lock> {
  for (;;) {
    const held = tryLock(path);
    if (held) return held;
    await sleep(200, undefined, signal ? { signal } : {});
  }
}
