import { LRUCache } from 'lru-cache';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { addressKey } from '#api/limits/address-key.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';

const windowSeconds = 60;
/** Above this count the oldest entry is evicted: a flood of made-up key ids uses no more memory. */
const maxCounted = 50_000;

/** Client address and the key id of an attempt; empty when the credential is not a key. */
export interface Attempt {
  address: string;
  keyId: string;
}

/**
 * Counts failed attempts a minute per address and key id, in this process. A key that is being guessed keeps working
 * from other addresses.
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

  /** Whether any attempt failed within the window: usually none did, and no look-up is needed. */
  get any(): boolean {
    return performance.now() - this.#lastAt < windowSeconds * 1_000;
  }

  /** @throws `too_many_failed_attempts`, before any look-up */
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
  return `${addressKey(address)} ${keyId}`;
}
