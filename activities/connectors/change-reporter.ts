export interface ReporterOptions {
  /** Asks for a run. @returns milliseconds after which to ask again; 0: done */
  ask: () => Promise<number>;
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
  #isPending = false;
  #timer: NodeJS.Timeout | null = null;
  #asking: Promise<void> | null = null;
  #isStopped = false;

  constructor(options: ReporterOptions) {
    this.#options = options;
  }

  note(): void {
    if (this.#isPending || this.#isStopped) {
      return;
    }
    this.#isPending = true;
    this.#schedule(this.#options.debounceMs);
  }

  /** No question is asked any more. @returns whether a report was left */
  async stop(): Promise<boolean> {
    this.#isStopped = true;
    clearTimeout(this.#timer ?? undefined);
    await this.#asking;
    return this.#isPending;
  }

  #schedule(ms: number): void {
    if (this.#isStopped || this.#asking !== null || this.#timer !== null) {
      return;
    }
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#asking = this.#ask().then((waitMs) => {
        this.#asking = null;
        if (this.#isPending) {
          this.#schedule(Math.max(waitMs, this.#options.debounceMs));
        }
      });
    }, ms);
  }

  async #ask(): Promise<number> {
    this.#isPending = false;
    const waitMs = await this.#options.ask().catch(() => this.#options.retryMs);
    this.#isPending ||= waitMs > 0;
    return waitMs;
  }
}
