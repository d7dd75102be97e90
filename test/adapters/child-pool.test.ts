import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { ChildPool, type ChildPoolLimits } from '#adapters/process/child-pool.ts';
import type { ChildTask } from '#adapters/process/child-task.ts';

const never = new AbortController().signal;
const limits: ChildPoolLimits = {
  heapMb: 64,
  residentMb: 256,
  timeoutMs: 10_000,
  waitersPerKey: 20,
  waitMs: 20_000,
};
const standIn = new URL('../support/task-process.ts', import.meta.url);
const poolOf = (changed: Partial<ChildPoolLimits> = {}, module = standIn) =>
  new ChildPool(module, { ...limits, ...changed });

interface Answer {
  pid: number;
  /** Requests that the process had received when it answered. */
  received: number;
}
const task = (request: object, receive: ChildTask<Answer, Answer>['receive'] = (result) => ({ result })) =>
  Promise.resolve({ request, bytes: new Uint8Array(), receive });
const run = (pool: ChildPool, request: object, key = 'a', signal = never) =>
  pool.run(key, () => task(request), signal);

describe.runIf(process.platform === 'linux')('a pool of processes', () => {
  it('gives the next task the process of the one before, and a new one after a failure', async () => {
    const pool = poolOf();
    const { pid } = await run(pool, { do: 'answer' });
    expect(await run(pool, { do: 'answer' })).toEqual({ pid, received: 2 });
    await expect(run(pool, { do: 'exit' })).rejects.toMatchObject({ name: 'ChildLost' });
    expect((await run(pool, { do: 'answer' })).pid).not.toBe(pid);
  });

  it('gives no other task to a process that is spent', async () => {
    const pool = poolOf();
    const spent = () => task({ do: 'answer' }, (result) => ({ result, isSpent: true }));
    const { pid } = await pool.run('a', spent, never);
    expect((await run(pool, { do: 'answer' })).pid).not.toBe(pid);
  });

  it.each([
    ['SIGKILL', { name: 'ChildLost', crashed: false }],
    ['SIGSEGV', { name: 'ChildLost', crashed: true }],
    ['SIGABRT', { name: 'ChildLimitExceeded', limit: 'memory' }],
  ] as const)('says what %s of a process means', async (signal, meaning) => {
    await expect(run(poolOf(), { do: 'kill', signal })).rejects.toMatchObject(meaning);
  });

  it('kills a process that is silent for too long, and takes the next task then', async () => {
    // The next process has to start within it, also on a busy machine.
    const pool = poolOf({ processes: 1, processesPerKey: 1, timeoutMs: 5_000 });
    const silent = run(pool, { do: 'hang' });
    silent.catch(() => undefined);
    const behind = run(pool, { do: 'answer' }, 'b');
    await expect(silent).rejects.toMatchObject({ name: 'ChildLimitExceeded', limit: 'time' });
    expect(await behind).toEqual({ pid: expect.any(Number) as number, received: 1 });
  });

  it('kills a process that takes too much memory beside its heap', async () => {
    let heldMb = 0;
    const growing = poolOf({ residentMb: 128 }).run(
      'a',
      async () => ({
        request: { do: 'grow' },
        bytes: new Uint8Array(),
        receive: (message: { heldMb: number }) => {
          heldMb = message.heldMb;
          return null;
        },
      }),
      never,
    );
    await expect(growing).rejects.toMatchObject({ name: 'ChildLimitExceeded', limit: 'memory' });
    expect(heldMb).toBeGreaterThan(0);
    // What is mapped has a limit of its own, for a process whose caller has no time to look: it would hold more than 300 MiB here.
    expect(heldMb).toBeLessThan(200);
  });

  it('fails a task whose answer is not understood, and no other', async () => {
    const pool = poolOf();
    const broken = new Error('not understood');
    const refused = pool.run(
      'a',
      () =>
        task({ do: 'answer' }, () => {
          throw broken;
        }),
      never,
    );
    await expect(refused).rejects.toBe(broken);
    expect(await run(pool, { do: 'answer' })).toEqual({ pid: expect.any(Number) as number, received: 1 });
  });

  it('fails a task whose module cannot be started', async () => {
    const missing = new URL('no-such-module.ts', standIn);
    await expect(run(poolOf({}, missing), { do: 'answer' })).rejects.toMatchObject({ name: 'ChildLost' });
  });

  it('fails a task whose process cannot be started, and no other', async () => {
    const script = fileURLToPath(new URL('../support/pool-without-files.ts', import.meta.url));
    const limited = ['-c', 'ulimit -n 100; exec "$@"', 'sh', process.execPath, script];
    const { stdout } = await promisify(execFile)('sh', limited, { timeout: 60_000 });
    expect(JSON.parse(stdout)).toEqual(['ChildLost', 'done']);
  });

  it('lets no key hold every process, unless it may', async () => {
    for (const [processesPerKey, processes] of [
      [undefined, 1],
      [2, 2],
    ] as const) {
      const pool = poolOf({ processes: 2, ...(processesPerKey === undefined ? {} : { processesPerKey }) });
      const answers = await Promise.all([1, 2].map(() => run(pool, { do: 'answer', afterMs: 500 })));
      expect(new Set(answers.map(({ pid }) => pid)).size).toBe(processes);
    }
  });

  it.each([
    [false, 'another'],
    [true, 'the same'],
  ])('with finishesTasks %s, the task after a cancelled one gets %s process', async (finishesTasks) => {
    const pool = poolOf({ processes: 1, processesPerKey: 1, finishesTasks });
    const { pid } = await run(pool, { do: 'answer' });
    const stop = new AbortController();
    const cancelled = run(pool, { do: 'answer', afterMs: 300 }, 'a', stop.signal);
    cancelled.catch(() => undefined);
    const next = run(pool, { do: 'answer' });
    await sleep(100);
    stop.abort(new Error('enough'));
    expect((await next).pid === pid).toBe(finishesTasks);
  });

  describe('with two tasks for each process', () => {
    const two = { processes: 1, processesPerKey: 1, tasksPerProcess: 2, finishesTasks: true };

    it('does them one after another, in their order', async () => {
      const pool = poolOf(two);
      const ended: string[] = [];
      const answers = await Promise.all(
        ['first', 'second', 'third'].map(async (name) => {
          const answer = await run(pool, { do: 'answer', afterMs: name === 'first' ? 200 : 0 });
          ended.push(name);
          return answer;
        }),
      );
      expect(ended).toEqual(['first', 'second', 'third']);
      expect(new Set(answers.map(({ pid }) => pid)).size).toBe(1);
    });

    it('sends the second before the first is done, and the third after it', async () => {
      const pool = poolOf(two);
      await run(pool, { do: 'answer' });
      const answers = await Promise.all([1, 2, 3].map(() => run(pool, { do: 'answer', afterMs: 300 })));
      expect(answers.map(({ received }) => received - 1)).toEqual([2, 3, 3]);
    });

    it('uses a process of its own for each before it sends a second', async () => {
      const pool = poolOf({ ...two, processes: 2, processesPerKey: 2 });
      const answers = await Promise.all([1, 2].map(() => run(pool, { do: 'answer', afterMs: 300 })));
      expect(new Set(answers.map(({ pid }) => pid)).size).toBe(2);
    });

    it.each([
      ['crashes', { do: 'kill', signal: 'SIGSEGV' }, { name: 'ChildLost', crashed: true }],
      ['hangs', { do: 'hang' }, { name: 'ChildLimitExceeded', limit: 'time' }],
    ])('does the second in another process when the first %s', async (_how, request, failure) => {
      const pool = poolOf({ ...two, timeoutMs: 5_000 });
      const { pid } = await run(pool, { do: 'answer' });
      const first = run(pool, request);
      first.catch(() => undefined);
      const second = await run(pool, { do: 'answer' }, 'b');
      await expect(first).rejects.toMatchObject(failure);
      expect(second.pid).not.toBe(pid);
    });

    it('counts the time of each from its turn', async () => {
      const pool = poolOf({ ...two, timeoutMs: 4_000 });
      await run(pool, { do: 'answer' });
      await Promise.all([1, 2].map(() => run(pool, { do: 'answer', afterMs: 2_200 })));
    });
  });

  it('ends a process that has no task for long', async () => {
    const pool = poolOf({ idleMs: 200 });
    const { pid } = await run(pool, { do: 'answer' });
    await expect.poll(() => isAlive(pid)).toBe(false);
  });
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
