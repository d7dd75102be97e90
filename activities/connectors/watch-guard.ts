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
    return now.source === before.source && now.refs.join('\n') === before.refs.join('\n') ? null : 'again';
  }

  #conclude(verdict: Verdict | null): void {
    if (verdict !== null && !this.#isOver) {
      this.verdict = verdict;
      this.stop();
      this.#stop.abort(new Error(`The watch is ${verdict}.`));
    }
  }
}
