import { closeSync, openSync } from 'node:fs';
import { ChildPool } from '#adapters/process/child-pool.ts';

/** Writes how a task ends while this process may open no file, so that no process can be started, and one afterwards. */
const pool = new ChildPool(new URL('task-process.ts', import.meta.url), {
  heapMb: 64,
  residentMb: 256,
  timeoutMs: 30_000,
  waitersPerKey: 1,
  waitMs: 30_000,
});

async function run(): Promise<string> {
  const task = { request: { do: 'answer' }, bytes: new Uint8Array(), receive: () => ({ result: 'done' }) };
  return pool
    .run('a', () => Promise.resolve(task), new AbortController().signal)
    .catch((error: unknown) => (error as Error).name);
}

const open: number[] = [];
try {
  for (;;) open.push(openSync('/dev/null', 'r'));
} catch {
  // None is left.
}
const without = await run();
open.forEach((each) => closeSync(each));
process.stdout.write(JSON.stringify([without, await run()]));
