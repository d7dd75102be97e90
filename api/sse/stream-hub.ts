import type { Logger } from 'pino';
import type { Database } from '#domain/persistence/database.ts';
import { readStreams } from '#domain/responses/stream-store.ts';
import { eventHead, isTerminalType } from '#domain/responses/stream-events.ts';
import { WakeListener } from './wake-listener.ts';

/** Someone who follows a response's events. */
export interface Follower {
  readonly tenantId: string;
  readonly responseId: string;
  /** The last sequence number that was delivered. */
  after: number;
  /** Stored event lines after `after`, in order. */
  deliver(lines: string[]): void;
  /** The caller's rights may have changed. */
  recheck(): void;
}

const runsPerRead = 200;

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
  readonly #poll: NodeJS.Timeout;
  #pumping = false;

  constructor(database: Database, logger: Logger) {
    this.#database = database;
    this.#logger = logger;
    this.#listener = new WakeListener(
      database,
      {
        onWake: (responseId, n) => this.#wake(responseId, n),
        onAccessChange: (tenantId) => this.#recheck(tenantId),
        onReconnect: () => this.#wakeAll(),
      },
      logger,
    );
    this.#poll = setInterval(() => {
      if (!this.#listener.isUp) {
        this.#wakeAll();
      }
    }, 1_000);
  }

  async start(): Promise<void> {
    await this.#listener.start();
  }

  async stop(): Promise<void> {
    clearInterval(this.#poll);
    await this.#listener.stop();
  }

  /** Registers first and reads then, so that nothing falls between. */
  attach(follower: Follower): () => void {
    const group = this.#followers.get(follower.responseId) ?? new Set();
    group.add(follower);
    this.#followers.set(follower.responseId, group);
    this.#mark([follower]);
    return () => {
      this.#dirty.delete(follower);
      group.delete(follower);
      if (group.size === 0) {
        this.#followers.delete(follower.responseId);
      }
    };
  }

  /** Resolves at the response's end, when the time is over, or when the waiting caller has left. */
  async untilEnd(wait: {
    tenantId: string;
    responseId: string;
    after: number;
    timeoutMs: number;
    gone: (leave: () => void) => void;
  }): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, wait.timeoutMs);
    wait.gone(resolve);
    const detach = this.attach({
      tenantId: wait.tenantId,
      responseId: wait.responseId,
      after: wait.after,
      deliver: (lines) => {
        if (lines.some((line) => isTerminalType(eventHead(line).type))) {
          resolve();
        }
      },
      recheck: () => undefined,
    });
    await promise;
    clearTimeout(timer);
    detach();
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
    this.#mark([...this.#followers.values()].flatMap((group) => [...group]));
  }

  #recheck(tenantId: string): void {
    for (const group of this.#followers.values()) {
      for (const follower of group) {
        if (follower.tenantId === tenantId) {
          follower.recheck();
        }
      }
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
        const batch = [...this.#dirty];
        this.#dirty.clear();
        await this.#read(batch);
      }
    } catch (error) {
      this.#logger.warn({ error: error instanceof Error ? error.name : 'unknown' }, 'streams not readable');
      setTimeout(() => this.#wakeAll(), 500).unref();
    } finally {
      this.#pumping = false;
    }
  }

  async #read(batch: readonly Follower[]): Promise<void> {
    const groups = Map.groupBy(batch, (follower) => `${follower.responseId}:${follower.after}`);
    const heads = [...groups.values()].flatMap(([first]) => (first === undefined ? [] : [first]));
    const cursors = heads.map(({ tenantId, responseId, after }) => ({ tenantId, responseId, after }));
    const runs = Map.groupBy(
      await readStreams(this.#database, cursors, runsPerRead),
      (run) => run.responseId,
    );
    for (const [i, group] of [...groups.values()].entries()) {
      const after = cursors[i]?.after ?? -1;
      const found = runs.get(cursors[i]?.responseId ?? '') ?? [];
      const lines = linesAfter(found, after);
      for (const follower of group) {
        if (lines.length > 0 && follower.after === after) {
          follower.after = after + lines.length;
          follower.deliver(lines);
        }
        if (found.length >= runsPerRead) {
          this.#dirty.add(follower);
        }
      }
    }
  }
}

/**
 * Event lines whose number is above `after`, without a gap. The runs may be those of several readers of one
 * response, who stand at different places: repeated, and with runs between them that nobody has read yet.
 */
export function linesAfter(
  runs: readonly { firstN: number; n: number; events: string }[],
  after: number,
): string[] {
  const lines: string[] = [];
  let last = after;
  for (const run of runs.toSorted((a, b) => a.firstN - b.firstN)) {
    const end = run.firstN + run.n - 1;
    if (run.firstN > last + 1) {
      break;
    }
    if (end > last) {
      lines.push(...run.events.split('\n').slice(Math.max(0, last + 1 - run.firstN)));
      last = end;
    }
  }
  return lines;
}
