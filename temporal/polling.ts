import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { DatabasePulse } from '#domain/foundation/persistence/database-pulse.ts';
import { answers, close, connect, startGroup, type GroupOptions, type WorkerGroup } from './worker-group.ts';

const lookEveryMs = 500;
/** Temporal is asked less often than the look at PostgreSQL, which costs nothing: its pulse is known. */
const askEveryMs = 3_000;
const answerWithinMs = 1_500;
/** Asked once more when a new connection was answered at once. */
const lastChanceMs = 1_000;
/** At the beginning nothing has answered yet, which is no news. */
const beginningMs = 5_000;

/** What keeps a worker from taking work. */
export type Missing = 'database' | 'temporal';

export interface PollingDependencies {
  group: GroupOptions;
  pulse: Pick<DatabasePulse, 'isAway'>;
  logger: Logger;
  onHung: () => void;
}

/**
 * Takes work for as long as both servers answer. Workers cannot pause: without PostgreSQL they are shut down, which
 * gives their turns to workers that reach it, and new ones are made when it is back. The same when Temporal no longer
 * answers over a connection that is open, and does over a new one.
 */
export class Polling {
  readonly #deps: PollingDependencies;
  readonly #stopped = new AbortController();
  readonly #stopping = new Set<Promise<void>>();
  #group: WorkerGroup | null = null;
  #answeredAt = -Infinity;
  #missing: readonly Missing[] = ['database', 'temporal'];
  /** What the log was told last. */
  #said: string | null = null;
  #startedAt = 0;
  #running: Promise<void> = Promise.resolve();

  constructor(deps: PollingDependencies) {
    this.#deps = deps;
  }

  /** Empty while work is taken. */
  get missing(): readonly Missing[] {
    return this.#missing;
  }

  start(): void {
    this.#startedAt = performance.now();
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#release();
    await this.#running;
    this.#release();
    await Promise.all(this.#stopping);
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      this.#say(await this.#look());
      await sleep(lookEveryMs, undefined, { signal }).catch(() => undefined);
    }
  }

  async #look(): Promise<Missing[]> {
    if (this.#deps.pulse.isAway) {
      this.#release();
      return ['database'];
    }
    return (await (this.#group === null ? this.#begin() : this.#renew(this.#group))) ? [] : ['temporal'];
  }

  async #begin(): Promise<boolean> {
    try {
      const group = await startGroup(this.#deps.group);
      this.#group = group;
      group.ended.then(
        () => this.#forget(group),
        (error: unknown) => {
          this.#forget(group);
          this.#warn(error, 'workers ended');
        },
      );
      return true;
    } catch (error) {
      this.#warn(error, 'workers not started');
      return false;
    }
  }

  /** A server that is only slow does not answer on a new connection either. */
  async #renew(group: WorkerGroup): Promise<boolean> {
    if (performance.now() - this.#answeredAt < askEveryMs) {
      return true;
    }
    if (await group.answers(answerWithinMs)) {
      this.#answeredAt = performance.now();
      return true;
    }
    const fresh = await connect(this.#deps.group.address).catch(() => null);
    if (fresh === null) {
      return false;
    }
    const works = await answers(fresh, answerWithinMs);
    await close(fresh);
    if (!works || (await group.answers(lastChanceMs))) {
      return works;
    }
    this.#deps.onHung();
    this.#release();
    return this.#begin();
  }

  #release(): void {
    const group = this.#group;
    if (group !== null) {
      this.#group = null;
      const stopping = group.stop().finally(() => this.#stopping.delete(stopping));
      this.#stopping.add(stopping);
    }
  }

  #forget(group: WorkerGroup): void {
    if (this.#group === group) {
      this.#group = null;
    }
  }

  #say(missing: readonly Missing[]): void {
    this.#missing = missing;
    const begins = this.#said === null && performance.now() - this.#startedAt < beginningMs;
    if (missing.join() === this.#said || (missing.length > 0 && begins) || this.#stopped.signal.aborted) {
      return;
    }
    this.#said = missing.join();
    if (missing.length > 0) {
      this.#deps.logger.warn({ missing }, 'no work is taken');
    } else {
      this.#deps.logger.info('work is taken');
    }
  }

  #warn(error: unknown, what: string): void {
    this.#deps.logger.warn({ error: error instanceof Error ? error.name : 'unknown' }, what);
  }
}
