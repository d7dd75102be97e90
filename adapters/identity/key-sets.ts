import { createRemoteJWKSet, customFetch, errors, type JWTVerifyGetKey } from 'jose';
import { LRUCache } from 'lru-cache';

const keptMs = 600_000;
const refetchAtMostEveryMs = 30_000;
const keptSets = 1_000;

/** Where a token came from: from its provider, over a connection that the platform opened, or from any client. */
export type TokenSource = 'provider' | 'stranger';

interface KeySet {
  keys: ReturnType<typeof createRemoteJWKSet>;
  /** When an unknown key id last caused a refetch of the set, by source of the token. */
  refetchedAt: Record<TokenSource, number>;
}

/**
 * Caches the keys of identity providers for ten minutes. An unknown key id refetches the set, so that a rotation
 * refuses nobody, but at most once in 30 seconds, whatever key ids strangers make up. Tokens from the provider itself
 * have a budget of their own, which neither a stranger nor another provider with the same address can use up.
 */
export class KeySets {
  readonly #fetch: typeof globalThis.fetch;
  readonly #sets = new LRUCache<string, KeySet>({ max: keptSets });

  constructor(fetch: typeof globalThis.fetch) {
    this.#fetch = fetch;
  }

  of({ issuer, address }: { issuer: string; address: string }, tokenSource: TokenSource): JWTVerifyGetKey {
    const set = this.#setOf(issuer, address);
    return async (header, token) => {
      try {
        return await set.keys(header, token);
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey) || !mayRefetch(set, tokenSource)) {
          throw error;
        }
        await set.keys.reload();
        return set.keys(header, token);
      }
    };
  }

  #setOf(issuer: string, address: string): KeySet {
    const place = JSON.stringify([issuer, address]);
    let set = this.#sets.get(place);
    if (set === undefined) {
      const keys = createRemoteJWKSet(new URL(address), {
        cacheMaxAge: keptMs,
        // The library never refetches by itself: the budget above decides.
        cooldownDuration: Infinity,
        timeoutDuration: 5_000,
        [customFetch]: this.#fetch,
      });
      set = { keys, refetchedAt: { provider: -Infinity, stranger: -Infinity } };
      this.#sets.set(place, set);
    }
    return set;
  }
}

function mayRefetch({ refetchedAt }: KeySet, tokenSource: TokenSource): boolean {
  const now = performance.now();
  if (now - refetchedAt[tokenSource] < refetchAtMostEveryMs) {
    return false;
  }
  refetchedAt[tokenSource] = now;
  return true;
}
