import { AnswerCutOff, type PassedLimit } from './answer-cut-off.ts';

type Wait = Extract<PassedLimit, 'headers' | 'idle' | 'total'>;

/** The clocks and the count of one answer, and the signal that destroys its connection. */
export class AnswerWatch {
  /** Read so far. */
  bytes = 0;
  readonly #stop = new AbortController();
  #then: () => void = () => undefined;
  readonly #timers = new Map<Wait, NodeJS.Timeout>();
  readonly #onCutOff: (cutOff: { limit: PassedLimit; bytes: number }) => void;

  constructor(onCutOff: (cutOff: { limit: PassedLimit; bytes: number }) => void) {
    this.#onCutOff = onCutOff;
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Waits so long for what `heard` tells of. */
  allow(wait: Wait, ms: number | null): void {
    this.heard(wait);
    if (ms !== null) {
      this.#timers.set(
        wait,
        setTimeout(() => this.cut(wait), ms),
      );
    }
  }

  heard(wait: Wait): void {
    clearTimeout(this.#timers.get(wait));
    this.#timers.delete(wait);
  }

  /** Destroys the connection. @returns the error for the reader */
  cut(limit: PassedLimit): AnswerCutOff {
    const cutOff = new AnswerCutOff(limit);
    this.end();
    this.#onCutOff({ limit, bytes: this.bytes });
    this.#stop.abort(cutOff);
    return cutOff;
  }

  /** Calls `then` when the answer is over, whichever way; more than once perhaps. */
  onEnd(then: () => void): void {
    this.#then = then;
  }

  /** The answer is over, whichever way. */
  end(): void {
    this.#then();
    for (const wait of this.#timers.keys()) {
      this.heard(wait);
    }
  }
}
