import { Pace, type PaceLimits } from './pace.ts';

/** A key that has begun nothing for so long competes with no other, in milliseconds. */
const activeForMs = 10_000;

interface Beginning {
  key: string;
  at: number;
}

/**
 * A pace that holds only while several keys begin something: a key that has the process to itself does not wait. What
 * it begins alone empties its burst all the same, so that it slows down as soon as another key comes.
 */
export class ContendedPace {
  readonly #pace: Pace;
  /** The two keys that began last, the newest first. */
  #latest: Beginning | null = null;
  #other: Beginning | null = null;

  constructor(limits: PaceLimits) {
    this.#pace = new Pace(limits);
  }

  /** @returns milliseconds to wait before going on, 0 within the burst and for a key that is alone */
  take(key: string, now = performance.now()): number {
    if (this.#latest !== null && this.#latest.key !== key) {
      this.#other = this.#latest;
    }
    this.#latest = { key, at: now };
    const alone = this.#other === null || this.#other.at < now - activeForMs;
    return alone ? this.#pace.drain(key, now) : this.#pace.take(key, 1, now);
  }
}
