import type { ChildProcess } from 'node:child_process';
import { ChildLimitExceeded, ChildLost, type ChildTask, type TaskEnd } from './child-task.ts';
import { residentMbOf, startLimitedChild, type ChildLimits } from './limited-child.ts';

export interface PooledChildLimits extends ChildLimits {
  /** Max duration of one task, from its turn; the process is killed then. */
  timeoutMs: number;
  /** Time after which a process without tasks ends. */
  idleMs: number;
}

interface Sent {
  receive(message: unknown): TaskEnd<unknown> | null;
  resolve(end: TaskEnd<unknown> | null): void;
  reject(reason: unknown): void;
}

const memoryCheckMs = 25;
/** Bytes written at once: a large write would delay the event loop. */
const writePart = 1_048_576;

/** A process of a pool, and the tasks that were sent to it: it does them one after another, in their order. */
export class PooledChild {
  readonly #child: ChildProcess;
  readonly #limits: PooledChildLimits;
  /** The first has its turn. */
  readonly #tasks: Sent[] = [];
  #timer: NodeJS.Timeout | undefined;
  #memoryChecks: NodeJS.Timeout | undefined;
  #turnSince = -Infinity;
  #isEnded = false;

  constructor(module: string, limits: PooledChildLimits) {
    this.#limits = limits;
    this.#child = startLimitedChild(module, limits);
    // Errors of its input show as its end.
    this.#child.stdin?.on('error', () => {});
    this.#child
      .on('message', (message) => this.#receive(message))
      .on('exit', (code, by) => this.#end(this.#tasks[0], lossOf(code, by)))
      // What cannot be sent because it has just ended is followed by how it ended.
      .on('error', () => void this.#child.kill('SIGKILL'));
  }

  /** Tasks that were sent and have not ended. */
  get load(): number {
    return this.#tasks.length;
  }

  /** When the present turn began, in milliseconds of `performance.now()`. */
  get turnSince(): number {
    return this.#turnSince;
  }

  /** Whether it may get a task. */
  get isUsable(): boolean {
    const { connected, exitCode, signalCode } = this.#child;
    return !this.#isEnded && connected && exitCode === null && signalCode === null;
  }

  /**
   * @returns null when the process ended for another task's reason: this one has had no part in it
   * @throws `ChildLimitExceeded`, `ChildLost`, the signal's reason, and errors of `receive`
   */
  async run<Message, Result>(
    task: ChildTask<Message, Result>,
    signal?: AbortSignal,
  ): Promise<TaskEnd<Result> | null> {
    if (this.#child.pid === undefined) {
      // It could not be started.
      throw new ChildLost(false);
    }
    const { promise, resolve, reject } = Promise.withResolvers<TaskEnd<unknown> | null>();
    // Nobody waits for it where nothing can be sent.
    promise.catch(() => undefined);
    const sent: Sent = { receive: (message) => task.receive(message as Message), resolve, reject };
    this.#tasks.push(sent);
    if (this.#tasks.length === 1) this.#begin();
    const abort = () => this.#end(sent, signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    try {
      this.#child.send(task.request);
      void write(this.#child, task.bytes);
      return (await promise) as TaskEnd<Result> | null;
    } catch (error) {
      this.#end(sent, error);
      throw error;
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  }

  /** The first of its tasks has its turn. */
  #begin(): void {
    clearTimeout(this.#timer);
    this.#turnSince = performance.now();
    hold(this.#child, true);
    const exceeded = (limit: 'time' | 'memory') => this.#end(this.#tasks[0], new ChildLimitExceeded(limit));
    this.#timer = setTimeout(() => exceeded('time'), this.#limits.timeoutMs);
    this.#memoryChecks ??= setInterval(() => {
      const { pid } = this.#child;
      if (pid !== undefined && residentMbOf(pid) > this.#limits.residentMb) exceeded('memory');
    }, memoryCheckMs);
  }

  #receive(message: unknown): void {
    const [task] = this.#tasks;
    if (task === undefined) return;
    try {
      const end = task.receive(message);
      if (end === null) return;
      this.#tasks.shift();
      task.resolve(end);
      if (end.isSpent === true) this.#end(undefined, null);
      else if (this.#tasks.length > 0) this.#begin();
      else this.#rest();
    } catch (error) {
      this.#end(task, error);
    }
  }

  /** Without a task, for some time. */
  #rest(): void {
    this.#stopChecks();
    hold(this.#child, false);
    this.#timer = setTimeout(() => this.#end(undefined, null), this.#limits.idleMs);
    this.#timer.unref();
  }

  /** One task is the reason, if any; the others may be done by another process. */
  #end(cause: Sent | undefined, reason: unknown): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#stopChecks();
    this.#child.kill('SIGKILL');
    for (const task of this.#tasks.splice(0)) {
      if (task === cause) task.reject(reason);
      else task.resolve(null);
    }
  }

  #stopChecks(): void {
    clearTimeout(this.#timer);
    clearInterval(this.#memoryChecks);
    this.#memoryChecks = undefined;
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
