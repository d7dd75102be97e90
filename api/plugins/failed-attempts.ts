import { RateLimiterMemory } from 'rate-limiter-flexible';
import { DomainError } from '#domain/kernel/errors.ts';

const windowSeconds = 60;

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
  readonly #most: number;
  #lastAt = Number.NEGATIVE_INFINITY;

  constructor(most: number) {
    this.#most = most;
    this.#limiter = new RateLimiterMemory({ points: most, duration: windowSeconds });
  }

  /** Whether any attempt failed within the window: most of the time nobody needs to be looked for. */
  get any(): boolean {
    return performance.now() - this.#lastAt < windowSeconds * 1_000;
  }

  /** @throws `too_many_failed_attempts`, before anything is looked up */
  async refuseMore(attempt: Attempt): Promise<void> {
    const counted = await this.#limiter.get(keyOf(attempt));
    if (counted !== null && counted.consumedPoints >= this.#most) {
      throw new DomainError('too_many_failed_attempts', 'Too many attempts with wrong credentials.', {
        retryAfter: Math.max(1, Math.ceil(counted.msBeforeNext / 1_000)),
      });
    }
  }

  async count(attempt: Attempt): Promise<void> {
    this.#lastAt = performance.now();
    await this.#limiter.penalty(keyOf(attempt));
  }
}

function keyOf({ address, keyId }: Attempt): string {
  return `${address} ${keyId}`;
}
