import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Identity } from '#domain/foundation/access/caller.ts';

const maxMs = 30_000;
const rememberedKeys = 10_000;
/** From a proof that notifications arrive; with it a revocation is seen within a second however they are lost. */
const trustMs = 900;
const idleAfterMs = 5_000;

/** A credential that was found good. */
export interface VerifiedCredential {
  keyId: string;
  identity: Identity;
  /** Of `performance.now()`. */
  goodUntil: number;
}

/**
 * Whose the keys are that a process has just seen, by the hash of the key and for as long as the process hears of
 * changes. What the principal may do is not remembered, and no refusal is.
 */
export class CredentialCache {
  readonly #kept = new LRUCache<string, VerifiedCredential>({ max: rememberedKeys });
  #trustedUntil = 0;
  #askedAt = -Infinity;
  /** Counts what was forgotten: a look-up that began before may have read what is over. */
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

  /** The verdict of `look`, remembered if it is good. */
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

  /** Nobody has asked for some seconds. */
  get isIdle(): boolean {
    return performance.now() - this.#askedAt > idleAfterMs;
  }

  /** Everything that was notified before `at`, of `performance.now()`, has been heard. */
  trust(at: number): void {
    this.#trustedUntil = at + trustMs;
  }

  /** What is known of a tenant; without one everything, because changes may have been missed. */
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
