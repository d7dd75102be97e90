import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { DatabasePulse } from '#domain/foundation/persistence/database-pulse.ts';
import { answers, close, connect, startGroup, type GroupOptions, type WorkerGroup } from './worker-group.ts';

/** Interval of retries while a server is missing. */
const lookEveryMs = 500;
/** Interval at which Temporal is checked while work is taken; `check` is called when PostgreSQL's state changes. */
const askEveryMs = 3_000;
const answerWithinMs = 1_500;
/** Timeout of a second check of the old connection, when a new one has answered. */
const lastChanceMs = 1_000;
/** At startup no server has answered yet, which is not a fault. */
const beginningMs = 5_000;

/** Servers whose absence stops a worker from taking work. */
export type Missing = 'database' | 'temporal';

export interface PollingDependencies {
  group: GroupOptions;
  pulse: Pick<DatabasePulse, 'isAway'>;
  logger: Logger;
  onHung: () => void;
}

/**
 * Takes work while both servers answer. Workers cannot pause: without PostgreSQL they are shut down, which hands their
 * turns to workers that reach it, and new workers are created when it is back. The same happens when Temporal no longer
 * answers over an open connection, and does over a new one.
 */
export class Polling {
  readonly #deps: PollingDependencies;
  readonly #stopped = new AbortController();
  readonly #stopping = new Set<Promise<void>>();
  #group: WorkerGroup | null = null;
  /** Aborted to look again without a pause. */
  #again = new AbortController();
  #missing: readonly Missing[] = ['database', 'temporal'];
  /** The state that was logged last. */
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

  /** Looks again at once. */
  check(): void {
    this.#again.abort();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    this.check();
    this.#release();
    await this.#running;
    this.#release();
    await Promise.all(this.#stopping);
  }

  async #run(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      // Made before the look, so that a change during it is not missed.
      const { signal } = (this.#again = new AbortController());
      this.#say(await this.#look());
      if (!this.#stopped.signal.aborted) {
        const pauseMs = this.#missing.length === 0 ? askEveryMs : lookEveryMs;
        await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
      }
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

  /** A slow server does not answer on a new connection either, so the connection is kept. */
  async #renew(group: WorkerGroup): Promise<boolean> {
    if (await group.answers(answerWithinMs)) {
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
      setTimeout(() => this.check(), lookEveryMs).unref();
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
