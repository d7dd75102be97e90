import { LRUCache } from 'lru-cache';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { DomainError } from '#domain/foundation/kernel/errors.ts';

const windowSeconds = 60;
/** Beyond it the oldest is forgotten: a flood of made-up key ids costs no more memory than this. */
const maxCounted = 50_000;

/** Where an attempt comes from and the key id that it names; empty when what was sent is no key. */
export interface Attempt {
  address: string;
  keyId: string;
}

/**
 * Failed attempts a minute per address and key id, counted in this process. A key that is being guessed goes on
 * working from everywhere else.
 */
export class FailedAttempts {
  readonly #limiter: RateLimiterMemory;
  readonly #limit: number;
  readonly #counted: LRUCache<string, true>;
  #lastAt = Number.NEGATIVE_INFINITY;

  constructor(limit: number) {
    this.#limit = limit;
    const limiter = new RateLimiterMemory({ points: limit, duration: windowSeconds });
    this.#limiter = limiter;
    this.#counted = new LRUCache({ max: maxCounted, dispose: (_, key) => void limiter.delete(key) });
  }

  /** Whether any attempt failed within the window: most of the time nobody needs to be looked for. */
  get any(): boolean {
    return performance.now() - this.#lastAt < windowSeconds * 1_000;
  }

  /** @throws `too_many_failed_attempts`, before anything is looked up */
  async assertUnderLimit(attempt: Attempt): Promise<void> {
    const counted = await this.#limiter.get(keyOf(attempt));
    if (counted !== null && counted.consumedPoints >= this.#limit) {
      throw new DomainError('too_many_failed_attempts', 'Too many attempts with wrong credentials.', {
        retryAfter: Math.max(1, Math.ceil(counted.msBeforeNext / 1_000)),
      });
    }
  }

  async count(attempt: Attempt): Promise<void> {
    this.#lastAt = performance.now();
    const key = keyOf(attempt);
    this.#counted.set(key, true, { noDisposeOnSet: true });
    await this.#limiter.penalty(key);
  }
}

function keyOf({ address, keyId }: Attempt): string {
  return `${address} ${keyId}`;
}
