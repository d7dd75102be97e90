import type { WatchState } from '#domain/knowledge/connectors/watched-connector.ts';

export interface WatchedSource extends WatchState {
  refs: readonly string[];
}

/** Why a subscription is ended from here: its time is over, it is not wanted any more, or begins again. */
export type Verdict = 'expired' | 'ended' | 'again';

interface GuardOptions {
  /** The present state; null: the connector is not to be watched. */
  read: (before: WatchedSource) => Promise<WatchedSource | null>;
  /** On the clock of `performance`. */
  endsAt: number;
  checkMs: number;
}

/** Ends a subscription when what it was made of is no longer so. */
export class WatchGuard {
  readonly #options: GuardOptions;
  readonly #stop = new AbortController();
  #watched: WatchedSource;
  #timer: NodeJS.Timeout;
  #isOver = false;
  /** Whether the subscription depends on `refs`; set by its source. */
  usesRefs = true;
  verdict: Verdict | null = null;

  constructor(watched: WatchedSource, options: GuardOptions) {
    this.#watched = watched;
    this.#options = options;
    this.#timer = this.#later();
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  stop(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  #later(): NodeJS.Timeout {
    return setTimeout(() => {
      // Without the database nothing is known: the next look may know more.
      void this.#look().catch(() => null);
    }, this.#options.checkMs);
  }

  async #look(): Promise<void> {
    try {
      const { read, endsAt } = this.#options;
      this.#conclude(performance.now() >= endsAt ? 'expired' : this.#compare(await read(this.#watched)));
    } finally {
      if (!this.#isOver) {
        this.#timer = this.#later();
      }
    }
  }

  #compare(now: WatchedSource | null): Verdict | null {
    if (now === null) {
      return 'ended';
    }
    const before = this.#watched;
    this.#watched = now;
    const isSame = now.source === before.source && (!this.usesRefs || areEqual(now.refs, before.refs));
    return isSame ? null : 'again';
  }

  #conclude(verdict: Verdict | null): void {
    if (verdict !== null && !this.#isOver) {
      this.verdict = verdict;
      this.stop();
      this.#stop.abort(new Error(`The watch is ${verdict}.`));
    }
  }
}

/** The array is the same object until a run has ended: then nothing is compared. */
function areEqual(some: readonly string[], others: readonly string[]): boolean {
  return some === others || (some.length === others.length && some.every((ref, n) => ref === others[n]));
}
