import { LRUCache } from 'lru-cache';

const rememberedKeys = 10_000;

/** How fast something may go on: so much at once, and so much a second. */
export interface PaceLimits {
  burst: number;
  perSecond: number;
}

/** Spreads what each key takes over time. Nothing is refused: it has to wait. */
export class Pace {
  readonly #limits: PaceLimits;
  /** When each key will have its whole burst again. */
  readonly #fullAt = new LRUCache<string, number>({ max: rememberedKeys });

  constructor(limits: PaceLimits) {
    this.#limits = limits;
  }

  /** @returns milliseconds to wait before going on, 0 within the burst */
  take(key: string, amount: number, now = performance.now()): number {
    const { burst, perSecond } = this.#limits;
    const fullAt = Math.max(this.#fullAt.get(key) ?? 0, now) + (amount / perSecond) * 1_000;
    this.#fullAt.set(key, fullAt);
    return Math.max(0, fullAt - now - (burst / perSecond) * 1_000);
  }

  /** One that has not to wait: it is taken from the burst as far as there is any. @returns 0 */
  drain(key: string, now = performance.now()): 0 {
    const { burst, perSecond } = this.#limits;
    const fullAt = Math.max(this.#fullAt.get(key) ?? 0, now) + 1_000 / perSecond;
    this.#fullAt.set(key, Math.min(fullAt, now + (burst / perSecond) * 1_000));
    return 0;
  }
}
