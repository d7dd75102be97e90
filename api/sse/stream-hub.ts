import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Database } from '#domain/foundation/persistence/database.ts';
import { readStreams } from '#domain/responses/store/stream-store.ts';
import { eventHead, isTerminalType, type EventRun } from '#domain/responses/record/stream-events.ts';
import { WakeListener } from './wake-listener.ts';

/** Someone who follows a response's events. */
export interface Follower {
  readonly tenantId: string;
  readonly responseId: string;
  /** The last sequence number that was delivered. */
  after: number;
  /** False while earlier lines are still on their way to the reader; `Attachment.resume` asks for more. */
  isReady(): boolean;
  /** Stored event lines after `after`, in order. */
  deliver(lines: string[]): void;
  /** The caller's rights may have changed. Resolves once that has been looked at, whatever came of it. */
  recheck(): Promise<void>;
}

/** What a process remembers of access for as long as it hears of changes. */
export interface AccessMemory {
  /** Everything notified before `at`, of `performance.now()`, was heard. */
  trust(at: number): void;
  /** Nobody has asked it for some seconds. */
  readonly isIdle: boolean;
  /** Of a tenant, or of all. */
  forget(tenantId?: string): void;
}

export interface Attachment {
  /** The reader has taken what it was given. */
  resume(): void;
  detach(): void;
}

const runsPerRead = 50;
/** So that one statement never carries every reader's backlog. */
const cursorsPerRead = 50;
/** With it a withdrawn right is seen within a second while nothing is heard, too. */
const pollMs = 900;
/** They share calls of the database, and leave it to others between. */
const recheckedAtOnce = 50;
/** How long the others wait for one whose connection may hang. */
const recheckPatienceMs = 2_000;

/**
 * Feeds every follower of this process from the store. Woken followers are read together, those that stand at
 * the same place in one query; nobody is polled for while the listener is up.
 */
export class StreamHub {
  readonly #database: Database;
  readonly #listener: WakeListener;
  readonly #logger: Logger;
  readonly #followers = new Map<string, Set<Follower>>();
  readonly #dirty = new Set<Follower>();
  /** Woken while they were still busy with what they had. */
  readonly #passedOver = new Set<Follower>();
  readonly #poll: NodeJS.Timeout;
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
        onLost: () => memory?.forget(),
        onReconnect: () => {
          memory?.forget();
          this.#wakeAll();
          this.#all().forEach((follower) => void this.#recheck(follower));
        },
      },
      logger,
    );
    this.#poll = setInterval(() => {
      if (!this.#listener.isUp) {
        this.#wakeAll();
        void this.#recheckInTurns();
      }
    }, pollMs);
  }

  start(): void {
    this.#listener.start();
  }

  async stop(): Promise<void> {
    clearInterval(this.#poll);
    await this.#listener.stop();
  }

  /** Registers first and reads then, so that nothing falls between. */
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

  /** Resolves at the response's end, or when the caller stops waiting: time over, gone, or a drain. */
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

  /** Never rejects: what fails for one reader is looked at again with the next round. */
  async #recheck(follower: Follower): Promise<void> {
    try {
      await follower.recheck();
    } catch (error) {
      this.#logger.warn({ error: error instanceof Error ? error.name : 'unknown' }, 'reader not rechecked');
    }
  }

  /** Everybody, unless that is still being done. Who takes too long is asked once more in the next round. */
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

/** Event lines whose number is above `after`; runs are in order. @throws on a gap: never send past one */
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
