import { Pace, type PaceLimits } from './pace.ts';

/** Milliseconds without a start after which a key no longer competes. */
const activeForMs = 10_000;

interface Beginning {
  key: string;
  at: number;
}

/**
 * A rate limit that applies only while several keys compete: a single active key does not wait. Its starts still use
 * up its burst, so it slows down as soon as another key starts something.
 */
export class ContendedPace {
  readonly #pace: Pace;
  readonly #maxWaitMs: number;
  /** The most recent starts of two different keys, newest first. */
  #latest: Beginning | null = null;
  #other: Beginning | null = null;

  /** @param maxWaitMs what is beyond this wait leaves no debt: its caller has another way */
  constructor({ maxWaitMs = Infinity, ...limits }: PaceLimits & { maxWaitMs?: number }) {
    this.#pace = new Pace(limits);
    this.#maxWaitMs = maxWaitMs;
  }

  /** @returns milliseconds to wait, 0 within the burst and for the only active key */
  take(key: string, now = performance.now()): number {
    if (this.#latest !== null && this.#latest.key !== key) {
      this.#other = this.#latest;
    }
    this.#latest = { key, at: now };
    const alone = this.#other === null || this.#other.at < now - activeForMs;
    return alone ? this.#pace.drain(key, now) : this.#pace.takeWithin(this.#maxWaitMs, key, 1, now);
  }
}
