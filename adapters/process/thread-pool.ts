import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import { FairSemaphore, type FairLimits } from '#domain/foundation/kernel/fair-semaphore.ts';

export interface ThreadLimits extends Pick<FairLimits, 'waitersPerKey' | 'waitMs'> {
  /** Max duration of one task, from its start; the thread is terminated then. */
  timeoutMs: number;
  /** Max heap of one thread; the thread is terminated when it needs more. */
  heapMb: number;
}

export interface ThreadPoolOptions extends ThreadLimits {
  threads?: number;
  /** Max threads of one key; all but one when not given. */
  threadsPerKey?: number;
  /** Added to the nice value of each thread where the system supports it: interactive work has priority. */
  politeness?: number;
  /** Time after which a thread without tasks ends. */
  idleMs?: number;
  /** A task that has begun ends by itself, also when its caller leaves: its thread is costly to start again. */
  finishesTasks?: boolean;
}

/** A task exceeded a limit, and its thread was terminated. */
export class ThreadLimitExceeded extends Error {
  readonly limit: 'time' | 'memory';

  constructor(limit: 'time' | 'memory') {
    super(`The task went beyond its limit of ${limit}.`);
    this.name = 'ThreadLimitExceeded';
    this.limit = limit;
  }
}

const defaults = {
  /** Leaves one processor to the event loop, but has at least two threads, so that no key holds all of them. */
  threads: Math.min(4, Math.max(2, availableParallelism() - 1)),
  politeness: 15,
  idleMs: 30_000,
  finishesTasks: false,
};

/** Runs the default export of a module in threads of this process. Keys take turns, and no key holds every thread. */
export class ThreadPool<Task, Result> {
  readonly #pool: Piscina<Task, Result>;
  readonly #turns: FairSemaphore;
  readonly #timeoutMs: number;
  readonly #finishesTasks: boolean;

  constructor(module: URL, options: ThreadPoolOptions) {
    const { threads, politeness, idleMs, finishesTasks } = { ...defaults, ...options };
    const { timeoutMs, heapMb, waitersPerKey, waitMs } = options;
    this.#timeoutMs = timeoutMs;
    this.#finishesTasks = finishesTasks;
    const slots = { slots: threads, slotsPerKey: options.threadsPerKey ?? threads - 1 };
    this.#turns = new FairSemaphore({ ...slots, waitersPerKey, waitMs });
    this.#pool = new Piscina<Task, Result>({
      filename: fileURLToPath(module),
      minThreads: 0,
      maxThreads: threads,
      idleTimeout: idleMs,
      niceIncrement: politeness,
      recordTiming: false,
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: heapMb, maxYoungGenerationSizeMb: 16 },
    });
    // A thread that ends while idle has no task to fail.
    this.#pool.on('error', () => {});
  }

  /**
   * Calls `make` when it is the task's turn.
   * @throws `TooBusy`, `ThreadLimitExceeded`, the signal's reason, and errors of `make` and the module
   */
  run(key: string, make: () => Task | Promise<Task>, signal?: AbortSignal): Promise<Result> {
    return this.#turns.run(key, signal, async () =>
      this.#runNow(await make(), this.#finishesTasks ? undefined : signal),
    );
  }

  async #runNow(task: Task, signal: AbortSignal | undefined): Promise<Result> {
    signal?.throwIfAborted();
    const stop = new AbortController();
    const abort = () => stop.abort(signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    const timer = setTimeout(() => stop.abort(new ThreadLimitExceeded('time')), this.#timeoutMs);
    try {
      return await this.#pool.run(task, { signal: stop.signal });
    } catch (error) {
      stop.signal.throwIfAborted();
      throw isOutOfMemory(error) ? new ThreadLimitExceeded('memory') : error;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    }
  }
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
}
