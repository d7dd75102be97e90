import { expect, it } from 'vitest';
import { ThreadPool, type ThreadLimits } from '#adapters/process/thread-pool.ts';
import type { ThreadTask } from '../support/task-thread.ts';

const limits: ThreadLimits = { timeoutMs: 60_000, heapMb: 32, waitersPerKey: 20, waitMs: 20_000 };
const poolOf = (changed: Partial<ThreadLimits> = {}) =>
  new ThreadPool<ThreadTask, string>(new URL('../support/task-thread.ts', import.meta.url), {
    ...limits,
    ...changed,
    threads: 2,
  });
const run = (pool: ThreadPool<ThreadTask, string>, task: ThreadTask, key = 'a', signal?: AbortSignal) =>
  pool.run(key, () => task, signal);

it('a thread that takes too long is ended, and the next task is done', async () => {
  // The next thread has to start within it, also on a busy machine.
  const pool = poolOf({ timeoutMs: 5_000 });
  await expect(run(pool, 'hang')).rejects.toMatchObject({ name: 'ThreadLimitExceeded', limit: 'time' });
  expect(await run(pool, 'answer')).toBe('answered');
});

it('a thread that needs more memory than it may have is ended, and the next task is done', async () => {
  const pool = poolOf();
  await expect(run(pool, 'grow')).rejects.toMatchObject({ name: 'ThreadLimitExceeded', limit: 'memory' });
  expect(await run(pool, 'answer')).toBe('answered');
});

it('a thread whose caller leaves is ended with the reason, and another key has had its turn meanwhile', async () => {
  const pool = poolOf();
  const stop = new AbortController();
  const hanging = run(pool, 'hang', 'a', stop.signal);
  const left = expect(hanging).rejects.toThrow('left');
  const behind = run(pool, 'answer');
  expect(await run(pool, 'answer', 'b')).toBe('answered');
  stop.abort(new Error('left'));
  await left;
  expect(await behind).toBe('answered');
});
