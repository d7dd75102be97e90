import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Database } from '#domain/foundation/persistence/database.ts';
import { eventHead, isTerminalType } from '#domain/responses/record/stream-events.ts';
import type { Follower } from './follower.ts';
import { StreamReads } from './stream-reads.ts';
import { WakeListener } from './wake-listener.ts';

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

/** Detects a revoked permission within a second also while no notification arrives. */
const pollMs = 900;
/** Max concurrent rechecks: they share database calls, and leave capacity to other work. */
const recheckedAtOnce = 50;
/** Max wait for a recheck whose connection may hang. */
const recheckPatienceMs = 2_000;

/** Feeds the readers of this process from the store; they are woken by the listener, and polled while it is down. */
export class StreamHub {
  readonly #reads: StreamReads;
  readonly #listener: WakeListener;
  readonly #logger: Logger;
  readonly #followers = new Map<string, Set<Follower>>();
  /** Runs while the listener is down. */
  #poll: NodeJS.Timeout | undefined;
  #rechecking = false;

  constructor(database: Database, logger: Logger, memory?: AccessMemory) {
    this.#reads = new StreamReads(database, logger);
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
          this.#reads.retryNow();
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
    this.#reads.stop();
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
    this.#reads.add(follower);
    return {
      resume: () => this.#reads.resume(follower),
      detach: () => {
        this.#reads.remove(follower);
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
      this.#reads.mark([...group].filter((follower) => follower.after < n));
    }
  }

  #wakeAll(): void {
    this.#reads.mark(this.#all());
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
}
