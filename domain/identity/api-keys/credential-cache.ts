import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Identity } from '#domain/foundation/access/caller.ts';

const maxMs = 30_000;
const rememberedKeys = 10_000;
/**
 * Max age of the last proof that notifications arrive: a revocation takes effect within a second even if
 * notifications are lost.
 */
const trustMs = 900;
const idleAfterMs = 5_000;

/** A verified credential. */
export interface VerifiedCredential {
  keyId: string;
  identity: Identity;
  /** In the clock of `performance.now()`. */
  goodUntil: number;
}

/**
 * A cache of the identities behind recently verified keys, by the hash of the key, valid while the process receives
 * notifications of changes. It holds neither permissions nor refusals.
 */
export class CredentialCache {
  readonly #kept = new LRUCache<string, VerifiedCredential>({ max: rememberedKeys });
  #trustedUntil = 0;
  #askedAt = -Infinity;
  /** Counts invalidations: a look-up that began before one may have read stale data. */
  #era = 0;

  find(token: string): VerifiedCredential | null {
    const now = performance.now();
    this.#askedAt = now;
    if (now >= this.#trustedUntil) {
      return null;
    }
    const verdict = this.#kept.get(digestOf(token));
    return verdict !== undefined && now < verdict.goodUntil ? verdict : null;
  }

  /** The result of `look`, cached if the credential is valid. */
  async refresh(
    token: string,
    look: () => Promise<VerifiedCredential | null>,
  ): Promise<VerifiedCredential | null> {
    const era = this.#era;
    const maxLength = performance.now() + maxMs;
    const verdict = await look();
    if (verdict !== null && era === this.#era && performance.now() < this.#trustedUntil) {
      this.#kept.set(digestOf(token), { ...verdict, goodUntil: Math.min(verdict.goodUntil, maxLength) });
    }
    return verdict;
  }

  /** No look-up for some seconds. */
  get isIdle(): boolean {
    return performance.now() - this.#askedAt > idleAfterMs;
  }

  /** All notifications sent before `at`, in `performance.now()`, have been received. */
  trust(at: number): void {
    this.#trustedUntil = at + trustMs;
  }

  /** Invalidates the entries of a tenant; without a tenant all, because notifications may have been lost. */
  forget(tenantId?: string): void {
    this.#era += 1;
    if (tenantId === undefined) {
      this.#trustedUntil = 0;
      this.#kept.clear();
      return;
    }
    for (const [digest, { identity }] of this.#kept.entries()) {
      if (identity.tenantId === tenantId) {
        this.#kept.delete(digest);
      }
    }
  }
}

function digestOf(token: string): string {
  return hash('sha256', token, 'base64url');
}
