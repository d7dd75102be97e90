import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import type { Database } from './database.ts';

const beatEveryMs = 1_000;
/** Age up to which an answer to another call counts as a beat: a caller with the same period answers in time. */
const freshMs = 1_250;
const patienceMs = 3_000;
const againAfterMs = 250;
/** Longer than a server takes to restart: work under way survives a restart. */
const awayAfterMs = 5_000;

/**
 * Queries PostgreSQL once a second while it answers no other call, over a connection of its own, because those of the
 * pools may all be in use. This detects a vanished host even without other traffic.
 */
export class DatabasePulse {
  readonly #database: Database;
  readonly #onChange: () => void;
  readonly #stopped = new AbortController();
  #client: Client | null = null;
  #lastActivityAt = -Infinity;
  #away = true;
  #beating: Promise<void> = Promise.resolve();

  /** @param onChange called after each change of `isAway` */
  constructor(database: Database, onChange: () => void = () => undefined) {
    this.#database = database;
    this.#onChange = onChange;
  }

  /** No answer for some seconds, or none yet. */
  get isAway(): boolean {
    return this.#away;
  }

  start(): void {
    this.#beating = this.#beat();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#client?.end();
    await this.#beating;
  }

  async #beat(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      const wasAway = this.#away;
      const pauseMs = (await this.#isAlive()) ? beatEveryMs : againAfterMs;
      if (this.#away !== wasAway) {
        this.#onChange();
      }
      await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  async #isAlive(): Promise<boolean> {
    const { answeredAt } = this.#database;
    if (performance.now() - answeredAt < freshMs) {
      this.#lastActivityAt = answeredAt;
      this.#away = false;
      return true;
    }
    try {
      await this.#ask();
      this.#lastActivityAt = performance.now();
      this.#away = false;
      return true;
    } catch {
      this.#client = null;
      // Checked only after a failure: a pause of this process is none.
      this.#away ||= performance.now() - this.#lastActivityAt > awayAfterMs;
      return false;
    }
  }

  async #ask(): Promise<void> {
    if (this.#client === null) {
      const client = this.#database.newClient();
      await client.connect();
      this.#client = client;
    }
    await this.#client.query({ text: 'select 1', answerWithinMs: patienceMs } as { text: string });
  }
}
