import { appendStream, readLane, type AppendAnswer } from '#domain/responses/store/stream-store.ts';
import { toRun, type EventRun, type StreamEvent } from '#domain/responses/record/stream-events.ts';
import { Fenced } from '#domain/responses/turn/commit-turn.ts';
import type { Database } from '#domain/foundation/persistence/database.ts';

interface LaneKey {
  tenantId: string;
  responseId: string;
  epoch: number;
}

const busyRetryMs = 10;

/** Max pending events; above it, the model's reader pauses until they are committed. */
const highWaterMark = 500;

/** One attempt's queue of events for its response's stream. */
export class Lane {
  readonly key: LaneKey;
  readonly #wake: () => void;
  nextN: number;
  pending: StreamEvent[] = [];
  #waiters: { resolve: () => void; reject: (reason: Error) => void }[] = [];
  #failure: Error | null = null;
  readonly #onFailure: (reason: Error) => void;

  constructor(key: LaneKey, nextN: number, hooks: { wake: () => void; onFailure: (reason: Error) => void }) {
    this.key = key;
    this.nextN = nextN;
    this.#wake = hooks.wake;
    this.#onFailure = hooks.onFailure;
  }

  /** Events of the response so far, pending ones included. */
  get length(): number {
    return this.nextN + this.pending.length;
  }

  push(events: readonly StreamEvent[]): void {
    if (events.length > 0 && this.#failure === null) {
      this.pending.push(...events);
      this.#wake();
    }
  }

  /** Resolves at once unless too many events are pending. @throws Fenced */
  async ready(): Promise<void> {
    if (this.#failure !== null || this.pending.length > highWaterMark) {
      await this.drained();
    }
  }

  /** Resolves when all pushed events are committed. @throws Fenced */
  async drained(): Promise<void> {
    if (this.#failure !== null) {
      throw this.#failure;
    }
    if (this.pending.length > 0 || this.inFlight) {
      await new Promise<void>((resolve, reject) => {
        this.#waiters.push({ resolve, reject });
      });
    }
  }

  inFlight = false;
  ended = false;

  /** Closes the lane. @returns the events that are not being written yet, for the final commit. @throws Fenced */
  async rest(): Promise<StreamEvent[]> {
    this.ended = true;
    if (this.inFlight || this.#failure !== null) {
      await this.drained();
    }
    const rest = this.pending;
    this.pending = [];
    return rest;
  }

  fail(reason: Error): void {
    if (this.#failure === null) {
      this.#failure = reason;
      this.pending = [];
      this.#resolveWaiters((waiter) => waiter.reject(reason));
      this.#onFailure(reason);
    }
  }

  resolveIfIdle(): void {
    if ((this.pending.length === 0 || this.ended) && !this.inFlight) {
      this.#resolveWaiters((waiter) => waiter.resolve());
    }
  }

  #resolveWaiters(each: (waiter: { resolve: () => void; reject: (reason: Error) => void }) => void): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    waiters.forEach(each);
  }
}

/** A batch of one lane that is being written. */
interface Flight {
  lane: Lane;
  events: StreamEvent[];
  run: EventRun;
}

/**
 * The one writer of stream events in a process. A flush starts as soon as the previous one has returned and carries
 * the pending events of every lane, so a lone stream has no delay and a busy process batches.
 */
export class StreamWriter {
  readonly #database: Database;
  readonly #lanes = new Set<Lane>();
  #flushing = false;

  constructor(database: Database) {
    this.#database = database;
  }

  open(key: LaneKey, nextN: number, onFailure: (reason: Error) => void): Lane {
    const lane = new Lane(key, nextN, { wake: () => void this.#flush(), onFailure });
    this.#lanes.add(lane);
    return lane;
  }

  close(lane: Lane): void {
    this.#lanes.delete(lane);
  }

  async #flush(): Promise<void> {
    if (this.#flushing) {
      return;
    }
    this.#flushing = true;
    // Batches events of the same tick.
    await Promise.resolve();
    for (let batch = this.#nextBatch(); batch.length > 0; batch = this.#nextBatch()) {
      await this.#append(batch);
    }
    this.#flushing = false;
  }

  #nextBatch(): Flight[] {
    return [...this.#lanes]
      .filter((lane) => lane.pending.length > 0 && !lane.inFlight && !lane.ended)
      .map((lane) => {
        const events = lane.pending;
        lane.pending = [];
        lane.inFlight = true;
        return { lane, events, run: toRun(events, lane.nextN) };
      });
  }

  async #append(batch: Flight[]): Promise<void> {
    let answers: (AppendAnswer | 'unknown')[];
    try {
      answers = await appendStream(
        this.#database,
        batch.map(({ lane, run }) => ({ ...lane.key, run })),
      );
    } catch {
      answers = batch.map(() => 'unknown');
    }
    for (const [i, flight] of batch.entries()) {
      const answer = answers[i] ?? 'unknown';
      if (answer === 'unknown') {
        // Not awaited: an uncertain write of one response does not delay the others.
        void this.#resolveDoubt(flight).then((outcome) => this.#land(flight, outcome));
      } else {
        this.#land(flight, answer);
      }
    }
  }

  #land({ lane, events, run }: Flight, answer: AppendAnswer): void {
    lane.inFlight = false;
    switch (answer) {
      case 'in':
        lane.nextN += run.n;
        lane.resolveIfIdle();
        break;
      case 'fenced':
        lane.fail(new Fenced());
        break;
      case 'busy':
        lane.pending = [...events, ...lane.pending];
        lane.resolveIfIdle();
        setTimeout(() => void this.#flush(), busyRetryMs);
        return;
    }
    void this.#flush();
  }

  /**
   * The response to a commit was lost. Never resent blindly: the head row shows whether the commit succeeded; only a
   * batch that certainly failed is written again.
   */
  async #resolveDoubt({ lane, run }: Flight): Promise<AppendAnswer> {
    for (let waitMs = 50; this.#lanes.has(lane); waitMs = Math.min(waitMs * 2, 1_000)) {
      await new Promise((resolve) => setTimeout(resolve, waitMs));
      try {
        const head = await readLane(this.#database, lane.key.tenantId, lane.key.responseId);
        if (head === null || head.epoch !== lane.key.epoch) {
          return 'fenced';
        }
        return head.nextN === run.firstN + run.n ? 'in' : 'busy';
      } catch {
        // The database is still unavailable: retry. The attempt's heartbeat and deadline bound the wait.
      }
    }
    return 'fenced';
  }
}
