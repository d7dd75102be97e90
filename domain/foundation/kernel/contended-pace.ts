import { Pace, type PaceLimits } from './pace.ts';

/** Milliseconds without a start after which an owner no longer competes. */
const activeForMs = 10_000;

/** What a start counts for while the machine is under pressure, if others of its owner and kind wait already. */
const unitsUnderPressure = 2;

export interface ContendedPaceOptions extends PaceLimits {
  /** What is beyond this wait leaves no debt: its caller has another way. */
  maxWaitMs?: number;
  /** Whether the machine has too little processor time; null: unknown. */
  pressure?: () => boolean | null;
}

interface Beginning {
  owner: string;
  at: number;
}

/**
 * A rate limit that applies only while several owners compete: a single active owner does not wait. Its starts still use
 * up its burst, so it slows down as soon as another owner starts something. Each owner has a rate for each kind of
 * start. Under pressure a kind with a queue has half the rate; a kind within its pace never notices.
 */
export class ContendedPace {
  readonly #pace: Pace;
  readonly #maxWaitMs: number;
  readonly #pressure: () => boolean | null;
  /** The most recent starts of two different owners, newest first. */
  #latest: Beginning | null = null;
  #other: Beginning | null = null;

  constructor({ maxWaitMs = Infinity, pressure = () => null, ...limits }: ContendedPaceOptions) {
    this.#pace = new Pace(limits);
    this.#maxWaitMs = maxWaitMs;
    this.#pressure = pressure;
  }

  /** @returns milliseconds to wait, 0 within the burst and for the only active owner */
  take(owner: string, kind = '', now = performance.now()): number {
    if (this.#latest !== null && this.#latest.owner !== owner) {
      this.#other = this.#latest;
    }
    this.#latest = { owner, at: now };
    const alone = this.#other === null || this.#other.at < now - activeForMs;
    const key = `${kind} ${owner}`;
    return alone
      ? this.#pace.drain(key, now)
      : this.#pace.takeWithin(this.#maxWaitMs, key, this.#units(key, now), now);
  }

  /** Whether any owner has begun something of late. */
  isUsed(now = performance.now()): boolean {
    return this.#latest !== null && this.#latest.at >= now - activeForMs;
  }

  #units(key: string, now: number): number {
    return this.#pace.isBehind(key, now) && this.#pressure() === true ? unitsUnderPressure : 1;
  }
}
