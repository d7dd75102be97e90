import { createRemoteJWKSet, customFetch, errors, type JWTVerifyGetKey } from 'jose';
import { LRUCache } from 'lru-cache';

const keptMs = 600_000;
const refetchAtMostEveryMs = 30_000;
const keptSets = 1_000;

/** Who brought a token: its provider, over a connection that we opened, or anybody at all. */
export type TokenSource = 'provider' | 'stranger';

interface KeySet {
  keys: ReturnType<typeof createRemoteJWKSet>;
  /** When an unknown key id last had the set read anew, by who had brought it. */
  refetchedAt: Record<TokenSource, number>;
}

/**
 * Providers' keys, kept for ten minutes. A key id that is not among them has the set read anew, so that a rotation
 * refuses nobody, but once in 30 seconds at most, whatever key ids strangers make up. What the provider itself hands
 * over has a budget of its own, which no stranger can use up, nor another provider that names the same address.
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
        // Never by itself: the budget above decides.
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
