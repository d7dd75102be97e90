import type { ChildProcess } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { FairSemaphore, type FairLimits } from '#domain/foundation/kernel/fair-semaphore.ts';
import { residentMbOf, startLimitedChild, type ChildLimits } from './limited-child.ts';

export interface ChildPoolLimits extends ChildLimits, Pick<FairLimits, 'waitersPerKey' | 'waitMs'> {
  /** Max duration of one task, from its start; the process is killed then. */
  timeoutMs: number;
  processes?: number;
  /** Max processes of one key; all but one when not given. */
  processesPerKey?: number;
  /** Time after which a process without tasks ends. */
  idleMs?: number;
  /** A task that has begun ends by itself, also when its caller leaves: its process is costly to start again. */
  finishesTasks?: boolean;
}

/** A task exceeded a limit, and its process was killed. */
export class ChildLimitExceeded extends Error {
  readonly limit: 'time' | 'memory';

  constructor(limit: 'time' | 'memory') {
    super(`The task exceeded its limit of ${limit}.`);
    this.name = 'ChildLimitExceeded';
    this.limit = limit;
  }
}

/** The process ended for another reason during a task. */
export class ChildLost extends Error {
  /** It crashed by itself, rather than being killed by others. */
  readonly crashed: boolean;

  constructor(crashed: boolean) {
    super('The process of the task ended before its result.');
    this.name = 'ChildLost';
    this.crashed = crashed;
  }
}

/** A conversation with a process about one task. */
export interface ChildTask<Message, Result> {
  request: object;
  /** Follow the request on the standard input. */
  bytes: Uint8Array;
  /** Takes a message of the process; the result is the last. A process that is spent gets no other task. */
  receive(message: Message): { result: Result; isSpent?: boolean } | null;
}

const defaults = {
  /** Leaves one processor to the event loop, but has at least two processes. */
  processes: Math.min(4, Math.max(2, availableParallelism() - 1)),
  idleMs: 30_000,
  finishesTasks: false,
};
const memoryCheckMs = 25;
/** Bytes written at once: a large write would delay the event loop. */
const writePart = 1_048_576;

/**
 * Runs tasks in reusable processes with limits of the operating system. Keys take turns, and by default no key holds
 * every process. A process that exceeds a limit is killed, and the next task gets a new one.
 */
export class ChildPool {
  readonly #module: string;
  readonly #limits: ChildPoolLimits & typeof defaults;
  readonly #turns: FairSemaphore;
  readonly #idle: { child: ChildProcess; timer: NodeJS.Timeout }[] = [];

  constructor(module: URL, limits: ChildPoolLimits) {
    this.#module = fileURLToPath(module);
    this.#limits = { ...defaults, ...limits };
    const { processes, processesPerKey = processes - 1, waitersPerKey, waitMs } = this.#limits;
    this.#turns = new FairSemaphore({
      slots: processes,
      slotsPerKey: processesPerKey,
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
    return this.#turns.run(key, signal, async () =>
      this.#runNow(await make(), this.#limits.finishesTasks ? undefined : signal),
    );
  }

  async #runNow<Message, Result>(task: ChildTask<Message, Result>, signal?: AbortSignal): Promise<Result> {
    signal?.throwIfAborted();
    const child = this.#take();
    const { promise, resolve, reject } = Promise.withResolvers<{ result: Result; isSpent?: boolean }>();
    const fail = (reason: unknown) => {
      child.kill('SIGKILL');
      reject(reason);
    };
    const abort = () => fail(signal?.reason);
    const timer = setTimeout(() => fail(new ChildLimitExceeded('time')), this.#limits.timeoutMs);
    const checks = setInterval(() => {
      if (this.#exceedsMemory(child)) fail(new ChildLimitExceeded('memory'));
    }, memoryCheckMs);
    const receive = (message: unknown) => {
      try {
        const end = task.receive(message as Message);
        if (end !== null) resolve(end);
      } catch (error) {
        fail(error);
      }
    };
    const lost = (code: number | null, by: NodeJS.Signals | null) => reject(lossOf(code, by));
    const broken = () => fail(new ChildLost(false));
    signal?.addEventListener('abort', abort, { once: true });
    child.on('message', receive).once('exit', lost).once('error', broken);
    try {
      child.send(task.request);
      void write(child, task.bytes);
      const { result, isSpent = false } = await promise;
      if (isSpent) child.kill('SIGKILL');
      else this.#release(child);
      return result;
    } catch (error) {
      child.kill('SIGKILL');
      throw error;
    } finally {
      clearTimeout(timer);
      clearInterval(checks);
      signal?.removeEventListener('abort', abort);
      child.off('message', receive).off('exit', lost).off('error', broken);
    }
  }

  #take(): ChildProcess {
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      clearTimeout(idle.timer);
      if (idle.child.connected && idle.child.exitCode === null && idle.child.signalCode === null) {
        hold(idle.child, true);
        return idle.child;
      }
    }
    const child = startLimitedChild(this.#module, this.#limits);
    // Errors of a process that is idle or was killed have nobody to reach.
    child.on('error', () => {});
    child.stdin?.on('error', () => {});
    return child;
  }

  #release(child: ChildProcess): void {
    hold(child, false);
    const timer = setTimeout(() => {
      const at = this.#idle.findIndex((idle) => idle.child === child);
      if (at !== -1) this.#idle.splice(at, 1);
      child.kill('SIGKILL');
    }, this.#limits.idleMs);
    timer.unref();
    this.#idle.push({ child, timer });
  }

  #exceedsMemory({ pid }: ChildProcess): boolean {
    return pid !== undefined && residentMbOf(pid) > this.#limits.residentMb;
  }
}

/** An idle process must not hold its parent: it ends when their channel closes. */
function hold(child: ChildProcess, held: boolean): void {
  const change = held ? 'ref' : 'unref';
  child[change]();
  child.channel?.[change]();
  const { stdin } = child;
  if (stdin !== null && change in stdin) (stdin as unknown as { ref(): void; unref(): void })[change]();
}

async function write(child: ChildProcess, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.byteLength && child.stdin?.writable === true; at += writePart) {
    const part = bytes.subarray(at, at + writePart);
    await new Promise<void>((resolve) => child.stdin?.write(part, () => resolve()));
  }
}

/** An abort is what V8 does when memory ends; other crashes are signals of faults. */
function lossOf(code: number | null, by: NodeJS.Signals | null): Error {
  if (by === 'SIGABRT' || by === 'SIGTRAP' || code === 134 || code === 133) {
    return new ChildLimitExceeded('memory');
  }
  const crashed =
    by === 'SIGSEGV' || by === 'SIGBUS' || by === 'SIGILL' || by === 'SIGFPE' || by === 'SIGXFSZ';
  return new ChildLost(crashed);
}
