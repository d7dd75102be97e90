import { LRUCache } from 'lru-cache';

const rememberedKeys = 10_000;
/** A shorter wait is an error of the sums: the last start of a burst has none. */
const roundingErrorMs = 0.001;

/** A rate: the burst, and the refill per second. */
export interface PaceLimits {
  burst: number;
  perSecond: number;
}

/** A rate limit for each key that delays instead of refusing. */
export class Pace {
  readonly #limits: PaceLimits;
  /** When each key's burst is full again. */
  readonly #fullAt = new LRUCache<string, number>({ max: rememberedKeys });

  constructor(limits: PaceLimits) {
    this.#limits = limits;
  }

  /** @returns milliseconds to wait, 0 within the burst */
  take(key: string, amount: number, now = performance.now()): number {
    const { burst, perSecond } = this.#limits;
    const fullAt = Math.max(this.#fullAt.get(key) ?? 0, now) + (amount / perSecond) * 1_000;
    this.#fullAt.set(key, fullAt);
    const waitMs = fullAt - now - (burst / perSecond) * 1_000;
    return waitMs < roundingErrorMs ? 0 : waitMs;
  }

  /** Whether the key would have to wait now. */
  isBehind(key: string, now = performance.now()): boolean {
    const { burst, perSecond } = this.#limits;
    return (this.#fullAt.get(key) ?? 0) > now + (burst / perSecond) * 1_000;
  }

  /** For a caller that waits `maxMs` at most: what is beyond that leaves no debt. @returns milliseconds to wait */
  takeWithin(maxMs: number, key: string, amount: number, now = performance.now()): number {
    const waitMs = this.take(key, amount, now);
    if (waitMs <= maxMs) {
      return waitMs;
    }
    const { burst, perSecond } = this.#limits;
    this.#fullAt.set(key, now + maxMs + (burst / perSecond) * 1_000);
    return maxMs;
  }

  /** For a caller that must not wait: takes what is left of the burst. @returns 0 */
  drain(key: string, now = performance.now()): 0 {
    const { burst, perSecond } = this.#limits;
    const fullAt = Math.max(this.#fullAt.get(key) ?? 0, now) + 1_000 / perSecond;
    this.#fullAt.set(key, Math.min(fullAt, now + (burst / perSecond) * 1_000));
    return 0;
  }
}
