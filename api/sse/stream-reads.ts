import type { Logger } from 'pino';
import type { Database } from '#domain/foundation/persistence/database.ts';
import { readStreams } from '#domain/responses/store/stream-store.ts';
import type { EventRun } from '#domain/responses/record/stream-events.ts';
import type { Follower } from './follower.ts';
import { linesAfter } from './lines-after.ts';

const runsPerRead = 50;
/** Max readers per statement, so that no statement returns every reader's backlog. */
const cursorsPerRead = 50;
const firstRetryMs = 500;
/** A database that is up again without the listener's knowing, as behind a pooler, is found within this time. */
const maxRetryMs = 5_000;

/**
 * Reads the events of woken readers together, those at the same position in one query. After a failed read all wait
 * for one retry, however often they are woken meanwhile.
 */
export class StreamReads {
  readonly #database: Database;
  readonly #logger: Logger;
  readonly #attached = new Set<Follower>();
  readonly #dirty = new Set<Follower>();
  /** Woken while they were still sending earlier lines. */
  readonly #passedOver = new Set<Follower>();
  /** Readers whose gap was logged. */
  readonly #gapped = new WeakSet<Follower>();
  #pumping = false;
  #retry: NodeJS.Timeout | undefined;
  /** Failed reads since the last that succeeded. */
  #failures = 0;
  #readable = true;
  #stopped = false;

  constructor(database: Database, logger: Logger) {
    this.#database = database;
    this.#logger = logger;
  }

  add(follower: Follower): void {
    this.#attached.add(follower);
    this.mark([follower]);
  }

  remove(follower: Follower): void {
    this.#attached.delete(follower);
    this.#dirty.delete(follower);
    this.#passedOver.delete(follower);
  }

  /** The reader has sent its lines. */
  resume(follower: Follower): void {
    if (this.#passedOver.delete(follower)) {
      this.mark([follower]);
    }
  }

  /** There may be events for these readers; those that have left are ignored. */
  mark(followers: readonly Follower[]): void {
    for (const follower of followers) {
      if (this.#attached.has(follower)) {
        this.#dirty.add(follower);
      }
    }
    if (this.#dirty.size > 0 && !this.#pumping && this.#retry === undefined) {
      this.#pumping = true;
      void this.#pump();
    }
  }

  /** The database answers: a pending retry is made now. */
  retryNow(): void {
    clearTimeout(this.#retry);
    this.#retry = undefined;
    this.#failures = 0;
    this.mark([]);
  }

  /** Nothing is read again later. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#retry);
  }

  async #pump(): Promise<void> {
    let ready: Follower[] = [];
    try {
      while (this.#dirty.size > 0) {
        const batch = [...this.#dirty].slice(0, cursorsPerRead);
        batch.forEach((follower) => this.#dirty.delete(follower));
        ready = batch.filter((follower) => this.#isReady(follower));
        if (ready.length > 0) {
          await this.#read(ready);
          this.#failures = 0;
        }
      }
      this.#become(this.#readable || this.#failures === 0);
    } catch (error) {
      this.#become(false, error);
      this.#retryLater(ready);
    } finally {
      this.#pumping = false;
    }
  }

  #become(readable: boolean, error?: unknown): void {
    if (readable !== this.#readable) {
      this.#readable = readable;
      if (readable) {
        this.#logger.info('streams readable again');
      } else {
        this.#logger.warn({ error: error instanceof Error ? error.name : 'unknown' }, 'streams not readable');
      }
    }
  }

  #retryLater(unread: readonly Follower[]): void {
    unread
      .filter((follower) => this.#attached.has(follower))
      .forEach((follower) => this.#dirty.add(follower));
    if (this.#stopped) {
      return;
    }
    const delayMs = Math.min(firstRetryMs * 2 ** this.#failures, maxRetryMs);
    this.#failures += 1;
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      this.mark([]);
    }, delayMs).unref();
  }

  #isReady(follower: Follower): boolean {
    const ready = follower.isReady();
    if (!ready) {
      this.#passedOver.add(follower);
    }
    return ready;
  }

  async #read(batch: readonly Follower[]): Promise<void> {
    const groups = [...Map.groupBy(batch, (follower) => `${follower.responseId}:${follower.after}`).values()];
    const cursors = groups.flatMap(([first]) =>
      first === undefined
        ? []
        : [{ tenantId: first.tenantId, responseId: first.responseId, after: first.after }],
    );
    const runs = await readStreams(this.#database, cursors, runsPerRead);
    for (const [i, group] of groups.entries()) {
      const after = cursors[i]?.after ?? -1;
      const lines = this.#linesFor(group, runs[i] ?? [], after);
      for (const follower of group) {
        // A reader may have left, or been given the lines by another read, meanwhile.
        if (lines.length > 0 && follower.after === after && this.#attached.has(follower)) {
          follower.after = after + lines.length;
          follower.deliver(lines);
          if ((runs[i]?.length ?? 0) >= runsPerRead) {
            this.mark([follower]);
          }
        }
      }
    }
  }

  /** Empty for a stream with a gap: it is no fault of the other streams of the read. */
  #linesFor(group: readonly Follower[], runs: readonly EventRun[], after: number): string[] {
    try {
      return linesAfter(runs, after);
    } catch {
      if (group.some((follower) => !this.#gapped.has(follower))) {
        group.forEach((follower) => this.#gapped.add(follower));
        this.#logger.error({ responseId: group[0]?.responseId }, 'the stored stream has a gap');
      }
      return [];
    }
  }
}
