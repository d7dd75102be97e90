/** Why a run is asked for: the source reported a change, or one may have been missed while nobody listened. */
export type Cause = 'change' | 'gap';

export interface ReporterOptions {
  /** Asks for a run. @returns milliseconds after which to ask again; 0: done */
  ask: (cause: Cause) => Promise<number>;
  /** From the first report to the question: a burst of reports is one. */
  debounceMs: number;
  /** After a question that failed. */
  retryMs: number;
}

/**
 * Turns reports of changes into requests of runs: any number of reports costs one timer, and one question at a time. A
 * report during a question leads to another one.
 */
export class ChangeReporter {
  readonly #options: ReporterOptions;
  #pending: Cause | null = null;
  #timer: NodeJS.Timeout | null = null;
  #dueAt = 0;
  #asking: Promise<void> | null = null;
  #isStopped = false;

  constructor(options: ReporterOptions) {
    this.#options = options;
  }

  note(cause: Cause): void {
    if (this.#pending === 'change' || this.#pending === cause || this.#isStopped) {
      return;
    }
    this.#pending = cause;
    this.#schedule(this.#options.debounceMs);
  }

  /** No question is asked any more. @returns whether a reported change was left */
  async stop(): Promise<boolean> {
    this.#isStopped = true;
    clearTimeout(this.#timer ?? undefined);
    await this.#asking;
    return this.#pending === 'change';
  }

  #schedule(ms: number): void {
    const dueAt = performance.now() + ms;
    if (this.#isStopped || this.#asking !== null || (this.#timer !== null && this.#dueAt <= dueAt)) {
      return;
    }
    clearTimeout(this.#timer ?? undefined);
    this.#dueAt = dueAt;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#asking = this.#ask().then((waitMs) => {
        this.#asking = null;
        if (this.#pending !== null) {
          this.#schedule(waitMs === 0 ? this.#options.debounceMs : waitMs);
        }
      });
    }, ms);
  }

  async #ask(): Promise<number> {
    const cause = this.#pending;
    if (cause === null) {
      return 0;
    }
    this.#pending = null;
    const waitMs = await this.#options.ask(cause).catch(() => this.#options.retryMs);
    if (waitMs > 0) {
      // A change that was reported meanwhile is asked for in place of a gap.
      this.#pending ??= cause;
    }
    return this.#pending === 'change' && cause === 'gap' ? 0 : waitMs;
  }
}
