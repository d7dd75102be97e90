import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Database } from '#domain/foundation/persistence/database.ts';
import { readStreams } from '#domain/responses/store/stream-store.ts';
import { eventHead, isTerminalType, type EventRun } from '#domain/responses/record/stream-events.ts';
import { WakeListener } from './wake-listener.ts';

/** A reader of a response's events. */
export interface Follower {
  readonly tenantId: string;
  readonly responseId: string;
  /** The last delivered sequence number. */
  after: number;
  /** False while earlier lines are still being sent to the reader; `Attachment.resume` requests more. */
  isReady(): boolean;
  /** Stored event lines after `after`, in order. */
  deliver(lines: string[]): void;
  /** The caller's permissions may have changed. Resolves when they were checked, whatever the result. */
  recheck(): Promise<void>;
}

/** Cached access decisions, valid while notifications of changes arrive. */
export interface AccessMemory {
  /** Everything notified before `at`, of `performance.now()`, was received. */
  trust(at: number): void;
  /** Not used for some seconds. */
  readonly isIdle: boolean;
  /** Of one tenant, or of all. */
  forget(tenantId?: string): void;
}

export interface Attachment {
  /** The reader has sent its lines and is ready for more. */
  resume(): void;
  detach(): void;
}

const runsPerRead = 50;
/** Max readers per statement, so that no statement returns every reader's backlog. */
const cursorsPerRead = 50;
/** Detects a revoked permission within a second also while no notification arrives. */
const pollMs = 900;
/** Max concurrent rechecks: they share database calls, and leave capacity to other work. */
const recheckedAtOnce = 50;
/** Max wait for a recheck whose connection may hang. */
const recheckPatienceMs = 2_000;

/**
 * Feeds the readers of this process from the store. Woken readers are read together, those at the same position in one
 * query; readers are not polled while the listener is up.
 */
export class StreamHub {
  readonly #database: Database;
  readonly #listener: WakeListener;
  readonly #logger: Logger;
  readonly #followers = new Map<string, Set<Follower>>();
  readonly #dirty = new Set<Follower>();
  /** Woken while they were still sending earlier lines. */
  readonly #passedOver = new Set<Follower>();
  /** Runs while the listener is down. */
  #poll: NodeJS.Timeout | undefined;
  #pumping = false;
  #rechecking = false;

  constructor(database: Database, logger: Logger, memory?: AccessMemory) {
    this.#database = database;
    this.#logger = logger;
    this.#listener = new WakeListener(
      database,
      {
        onWake: (responseId, n) => this.#wake(responseId, n),
        onAccessChange: (tenantId) => {
          memory?.forget(tenantId);
          this.#recheckTenant(tenantId);
        },
        onBeat: (at) => memory?.trust(at),
        isIdle: () => memory?.isIdle === true && this.#followers.size === 0,
        onLost: () => {
          memory?.forget();
          this.#startPolling();
        },
        onReconnect: () => {
          clearInterval(this.#poll);
          memory?.forget();
          this.#wakeAll();
          this.#all().forEach((follower) => void this.#recheck(follower));
        },
      },
      logger,
    );
    this.#startPolling();
  }

  start(): void {
    this.#listener.start();
  }

  async stop(): Promise<void> {
    await this.#listener.stop();
    clearInterval(this.#poll);
  }

  #startPolling(): void {
    clearInterval(this.#poll);
    this.#poll = setInterval(() => {
      this.#wakeAll();
      void this.#recheckInTurns();
    }, pollMs);
  }

  /** Registers before the first read, so that no event is missed. */
  attach(follower: Follower): Attachment {
    const group = this.#followers.get(follower.responseId) ?? new Set();
    group.add(follower);
    this.#followers.set(follower.responseId, group);
    this.#mark([follower]);
    return {
      resume: () => {
        if (this.#passedOver.delete(follower)) {
          this.#mark([follower]);
        }
      },
      detach: () => {
        this.#dirty.delete(follower);
        this.#passedOver.delete(follower);
        group.delete(follower);
        if (group.size === 0) {
          this.#followers.delete(follower.responseId);
        }
      },
    };
  }

  /** Resolves at the response's end, or when the wait ends: timeout, disconnect or drain. */
  async untilEnd(
    wait: Pick<Follower, 'tenantId' | 'responseId' | 'after' | 'recheck'>,
    stop: AbortSignal,
  ): Promise<void> {
    if (stop.aborted) {
      return;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    stop.addEventListener('abort', () => resolve(), { once: true });
    const attachment = this.attach({
      ...wait,
      isReady: () => true,
      deliver: (lines) => {
        if (lines.some((line) => isTerminalType(eventHead(line).type))) {
          resolve();
        }
      },
    });
    await promise;
    attachment.detach();
  }

  countOf(responseId: string): number {
    return this.#followers.get(responseId)?.size ?? 0;
  }

  #wake(responseId: string, n: number): void {
    const group = this.#followers.get(responseId);
    if (group !== undefined) {
      this.#mark([...group].filter((follower) => follower.after < n));
    }
  }

  #wakeAll(): void {
    this.#mark(this.#all());
  }

  #all(): Follower[] {
    return [...this.#followers.values()].flatMap((group) => [...group]);
  }

  #recheckTenant(tenantId: string): void {
    for (const follower of this.#all()) {
      if (follower.tenantId === tenantId) {
        void this.#recheck(follower);
      }
    }
  }

  /** Never rejects: a failed recheck is repeated in the next round. */
  async #recheck(follower: Follower): Promise<void> {
    try {
      await follower.recheck();
    } catch (error) {
      this.#logger.warn({ error: error instanceof Error ? error.name : 'unknown' }, 'reader not rechecked');
    }
  }

  /** Rechecks all readers, unless a round is running. A recheck that takes too long is repeated in the next round. */
  async #recheckInTurns(): Promise<void> {
    if (this.#rechecking) {
      return;
    }
    this.#rechecking = true;
    try {
      const waiting = this.#all();
      while (waiting.length > 0) {
        const asked = waiting.splice(0, recheckedAtOnce).map((follower) => this.#recheck(follower));
        await Promise.race([Promise.all(asked), sleep(recheckPatienceMs, undefined, { ref: false })]);
      }
    } finally {
      this.#rechecking = false;
    }
  }

  #mark(followers: readonly Follower[]): void {
    followers.forEach((follower) => this.#dirty.add(follower));
    if (this.#dirty.size > 0 && !this.#pumping) {
      this.#pumping = true;
      void this.#pump();
    }
  }

  async #pump(): Promise<void> {
    try {
      while (this.#dirty.size > 0) {
        const batch = [...this.#dirty].slice(0, cursorsPerRead);
        batch.forEach((follower) => this.#dirty.delete(follower));
        await this.#read(batch.filter((follower) => this.#isReady(follower)));
      }
    } catch (error) {
      this.#logger.warn({ error: error instanceof Error ? error.name : 'unknown' }, 'streams not readable');
      setTimeout(() => this.#wakeAll(), 500).unref();
    } finally {
      this.#pumping = false;
    }
  }

  #isReady(follower: Follower): boolean {
    const ready = follower.isReady();
    if (!ready) {
      this.#passedOver.add(follower);
    }
    return ready;
  }

  async #read(batch: readonly Follower[]): Promise<void> {
    if (batch.length === 0) {
      return;
    }
    const groups = [...Map.groupBy(batch, (follower) => `${follower.responseId}:${follower.after}`).values()];
    const cursors = groups.flatMap(([first]) =>
      first === undefined
        ? []
        : [{ tenantId: first.tenantId, responseId: first.responseId, after: first.after }],
    );
    const runs = await readStreams(this.#database, cursors, runsPerRead);
    for (const [i, group] of groups.entries()) {
      const after = cursors[i]?.after ?? -1;
      const lines = linesAfter(runs[i] ?? [], after);
      for (const follower of group.filter((member) => lines.length > 0 && member.after === after)) {
        follower.after = after + lines.length;
        follower.deliver(lines);
        if ((runs[i]?.length ?? 0) >= runsPerRead) {
          this.#mark([follower]);
        }
      }
    }
  }
}

/** Event lines with a number above `after`; runs are in order. @throws on a gap, since no event may be skipped */
export function linesAfter(runs: readonly EventRun[], after: number): string[] {
  const lines: string[] = [];
  let last = after;
  for (const run of runs) {
    const end = run.firstN + run.n - 1;
    if (run.firstN > last + 1) {
      throw new Error('The stored stream has a gap.');
    }
    if (end > last) {
      lines.push(...run.events.split('\n').slice(last + 1 - run.firstN));
      last = end;
    }
  }
  return lines;
}
