import { AnswerLimitExceeded, type PassedLimit } from './answer-limit-exceeded.ts';

type Wait = Extract<PassedLimit, 'headers' | 'idle' | 'total'>;

/** Timers and byte count of one answer, and the signal that destroys its connection. */
export class AnswerWatch {
  /** Bytes read so far. */
  bytes = 0;
  readonly #stop = new AbortController();
  #then: () => void = () => undefined;
  readonly #timers = new Map<Wait, NodeJS.Timeout>();
  readonly #onLimitExceeded: (exceeded: { limit: PassedLimit; bytes: number }) => void;

  constructor(onLimitExceeded: (exceeded: { limit: PassedLimit; bytes: number }) => void) {
    this.#onLimitExceeded = onLimitExceeded;
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Starts the timer of one wait, which `received` clears. */
  allow(wait: Wait, ms: number | null): void {
    this.received(wait);
    if (ms !== null) {
      this.#timers.set(
        wait,
        setTimeout(() => this.limitExceeded(wait), ms),
      );
    }
  }

  received(wait: Wait): void {
    clearTimeout(this.#timers.get(wait));
    this.#timers.delete(wait);
  }

  /** Destroys the connection. @returns the error for the reader */
  limitExceeded(limit: PassedLimit): AnswerLimitExceeded {
    const exceeded = new AnswerLimitExceeded(limit);
    this.end();
    this.#onLimitExceeded({ limit, bytes: this.bytes });
    this.#stop.abort(exceeded);
    return exceeded;
  }

  /** Calls `then` when the answer has ended for any reason; possibly more than once. */
  onEnd(then: () => void): void {
    this.#then = then;
  }

  /** Marks the answer as ended, for any reason. */
  end(): void {
    this.#then();
    for (const wait of this.#timers.keys()) {
      this.received(wait);
    }
  }
}
