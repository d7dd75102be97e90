import type { GatewayConfig } from '#domain/foundation/kernel/config.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { addressKey } from './address-key.ts';
import { TokenBuckets } from './token-buckets.ts';

/** Throws `rate_limited` above the limit per minute. */
export type Limit = (key: string) => void;

/** Limits of unauthenticated operations that write rows; one instance for all prefixes of a process. */
export interface SignInLimits {
  /** By address: each start stores a row for a day, and the caller is not authenticated. */
  start: Limit;
  /** By address, before the token is looked up. */
  refreshFrom: Limit;
  /** By session. */
  refreshOf: Limit;
}

export function signInLimits(
  config: Pick<GatewayConfig, 'MAX_LOGIN_STARTS' | 'MAX_REFRESHES' | 'MAX_REFRESHES_PER_SESSION'>,
): SignInLimits {
  return {
    start: perAddress(config.MAX_LOGIN_STARTS, 'Too many sign-ins were started from this address.'),
    refreshFrom: perAddress(config.MAX_REFRESHES, 'Too many sessions were refreshed from this address.'),
    refreshOf: perMinute(
      config.MAX_REFRESHES_PER_SESSION,
      'This session was refreshed too often: its access token is good for ten minutes.',
    ),
  };
}

/** A limit for a client's address, which is given in full and counted with its network. */
export function perAddress(limit: number, message: string): Limit {
  const of = perMinute(limit, message);
  return (address) => of(addressKey(address));
}

function perMinute(limit: number, message: string): Limit {
  const buckets = new TokenBuckets({ rate: limit / 60, burst: limit });
  return (key) => {
    const { taken, waitMs } = buckets.take(key, 1);
    if (!taken) {
      throw new DomainError('rate_limited', message, { retryAfter: Math.max(1, Math.ceil(waitMs / 1_000)) });
    }
  };
}
