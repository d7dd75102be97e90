import { createRemoteJWKSet, customFetch, errors, type JWTVerifyGetKey } from 'jose';
import { LRUCache } from 'lru-cache';

const keptMs = 600_000;
const refetchAtMostEveryMs = 30_000;
const keptSets = 1_000;

interface KeySet {
  keys: ReturnType<typeof createRemoteJWKSet>;
  /** When an unknown key id last had the set read anew. */
  refetchedAt: number;
}

/**
 * Providers' keys, kept for ten minutes. A key id that is not among them has the set read anew, so that a rotation
 * refuses nobody, but once in 30 seconds at most, whatever key ids strangers make up.
 */
export class KeySets {
  readonly #fetch: typeof globalThis.fetch;
  readonly #sets = new LRUCache<string, KeySet>({ max: keptSets });

  constructor(fetch: typeof globalThis.fetch) {
    this.#fetch = fetch;
  }

  of(address: string): JWTVerifyGetKey {
    const set = this.#setOf(address);
    return async (header, token) => {
      try {
        return await set.keys(header, token);
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey) || !this.#mayRefetch(set)) {
          throw error;
        }
        await set.keys.reload();
        return set.keys(header, token);
      }
    };
  }

  #mayRefetch(set: KeySet): boolean {
    const now = performance.now();
    if (now - set.refetchedAt < refetchAtMostEveryMs) {
      return false;
    }
    set.refetchedAt = now;
    return true;
  }

  #setOf(address: string): KeySet {
    let set = this.#sets.get(address);
    if (set === undefined) {
      const keys = createRemoteJWKSet(new URL(address), {
        cacheMaxAge: keptMs,
        // Never by itself: the budget above decides.
        cooldownDuration: Infinity,
        timeoutDuration: 5_000,
        [customFetch]: this.#fetch,
      });
      set = { keys, refetchedAt: -Infinity };
      this.#sets.set(address, set);
    }
    return set;
  }
}
