import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { FairSemaphore, type FairLimits } from '#domain/foundation/kernel/fair-semaphore.ts';
import type { ChildTask } from './child-task.ts';
import { PooledChild, type PooledChildLimits } from './pooled-child.ts';

export interface ChildPoolLimits
  extends Omit<PooledChildLimits, 'idleMs'>, Pick<FairLimits, 'waitersPerKey' | 'waitMs'> {
  processes?: number;
  /** Max processes of one key, whose tasks are at most as many as these may be sent; all but one when not given. */
  processesPerKey?: number;
  /**
   * Tasks that a process has been sent at most, of which it does one after another: with more than one it does not wait
   * for this process between two of them. Not for tasks with bytes.
   */
  tasksPerProcess?: number;
  idleMs?: number;
  /** A task that has begun ends by itself, also when its caller leaves: its process is costly to start again. */
  finishesTasks?: boolean;
}

const defaults = {
  /** Leaves one processor to the event loop, but has at least two processes. */
  processes: Math.min(4, Math.max(2, availableParallelism() - 1)),
  tasksPerProcess: 1,
  idleMs: 30_000,
  finishesTasks: false,
};

/**
 * Runs tasks in reusable processes with limits of the operating system. Keys take turns, and by default no key holds
 * every process. A process that exceeds a limit is killed, and the next task gets a new one.
 */
export class ChildPool {
  readonly #module: string;
  readonly #limits: ChildPoolLimits & typeof defaults;
  readonly #turns: FairSemaphore;
  #children: PooledChild[] = [];

  constructor(module: URL, limits: ChildPoolLimits) {
    this.#module = fileURLToPath(module);
    this.#limits = { ...defaults, ...limits };
    const { processes, processesPerKey = processes - 1, waitersPerKey, waitMs } = this.#limits;
    const { tasksPerProcess } = this.#limits;
    this.#turns = new FairSemaphore({
      slots: processes * tasksPerProcess,
      slotsPerKey: processesPerKey * tasksPerProcess,
      waitersPerKey,
      waitMs,
    });
  }

  /**
   * Calls `make` when it is the task's turn.
   * @throws `TooBusy`, `ChildLimitExceeded`, `ChildLost`, the signal's reason, and errors of `make`
   */
  run<Message, Result>(
    key: string,
    make: () => Promise<ChildTask<Message, Result>>,
    signal: AbortSignal,
  ): Promise<Result> {
    return this.#turns.run(key, signal, async () => this.#runNow(await make(), signal));
  }

  async #runNow<Message, Result>(task: ChildTask<Message, Result>, signal: AbortSignal): Promise<Result> {
    for (;;) {
      signal.throwIfAborted();
      const end = await this.#take().run(task, this.#limits.finishesTasks ? undefined : signal);
      if (end !== null) return end.result;
    }
  }

  /**
   * An idle process, a new one, or the one with the fewest tasks. Of several it is the one whose turn began last, since a
   * turn that takes long may take longer.
   */
  #take(): PooledChild {
    this.#children = this.#children.filter(({ isUsable }) => isUsable);
    const [first] = this.#children.toSorted((a, b) => a.load - b.load || b.turnSince - a.turnSince);
    if (first !== undefined && (first.load === 0 || this.#children.length >= this.#limits.processes)) {
      return first;
    }
    const child = new PooledChild(this.#module, this.#limits);
    this.#children.push(child);
    return child;
  }
}
