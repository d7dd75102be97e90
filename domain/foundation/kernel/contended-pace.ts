import { Pace, type PaceLimits } from './pace.ts';

/** Milliseconds without a start after which a key no longer competes. */
const activeForMs = 10_000;

/** What a start counts for while the machine is under pressure, if others of its key wait already. */
const unitsUnderPressure = 2;

export interface ContendedPaceOptions extends PaceLimits {
  /** What is beyond this wait leaves no debt: its caller has another way. */
  maxWaitMs?: number;
  /** Whether the machine has too little processor time; null: unknown. */
  pressure?: () => boolean | null;
}

interface Beginning {
  key: string;
  at: number;
}

/**
 * A rate limit that applies only while several keys compete: a single active key does not wait. Its starts still use
 * up its burst, so it slows down as soon as another key starts something. Under pressure a key with a queue has half
 * the rate; a key that keeps its pace never notices.
 */
export class ContendedPace {
  readonly #pace: Pace;
  readonly #maxWaitMs: number;
  readonly #pressure: () => boolean | null;
  /** The most recent starts of two different keys, newest first. */
  #latest: Beginning | null = null;
  #other: Beginning | null = null;

  constructor({ maxWaitMs = Infinity, pressure = () => null, ...limits }: ContendedPaceOptions) {
    this.#pace = new Pace(limits);
    this.#maxWaitMs = maxWaitMs;
    this.#pressure = pressure;
  }

  /** @returns milliseconds to wait, 0 within the burst and for the only active key */
  take(key: string, now = performance.now()): number {
    if (this.#latest !== null && this.#latest.key !== key) {
      this.#other = this.#latest;
    }
    this.#latest = { key, at: now };
    const alone = this.#other === null || this.#other.at < now - activeForMs;
    return alone
      ? this.#pace.drain(key, now)
      : this.#pace.takeWithin(this.#maxWaitMs, key, this.#units(key, now), now);
  }

  #units(key: string, now: number): number {
    return this.#pace.isBehind(key, now) && this.#pressure() === true ? unitsUnderPressure : 1;
  }
}
