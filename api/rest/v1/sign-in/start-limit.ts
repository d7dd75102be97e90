import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { DomainError } from '#domain/kernel/errors.ts';

const windowSeconds = 60;

/** Each start keeps a row for a day, and nobody has proved anything yet. @throws `rate_limited` */
export function limitStarts(most: number): (address: string) => Promise<void> {
  const limiter = new RateLimiterMemory({ points: most, duration: windowSeconds });
  return async (address) => {
    try {
      await limiter.consume(address);
    } catch (error) {
      if (error instanceof RateLimiterRes) {
        throw new DomainError('rate_limited', 'Too many sign-ins were started from this address.', {
          retryAfter: Math.max(1, Math.ceil(error.msBeforeNext / 1_000)),
        });
      }
      throw error;
    }
  };
}
