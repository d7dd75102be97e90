import { LRUCache } from 'lru-cache';
import type { CredentialIdentity } from '#domain/capabilities/credentials/credential-source.ts';

export interface ClientToken {
  token: string;
  /** Lifetime, counted from the request for the token; null: the endpoint did not state it. */
  expiresInMs: number | null;
}

/** A token is not used in the last part of its lifetime: it may expire on the way. */
const marginMs = 60_000;
const unsaidMs = 300_000;
const maxMs = 3_600_000;

/** Caches tokens of client credentials in memory, each bound to the credential that it was obtained with. */
export class ClientTokens {
  readonly #tokens = new LRUCache<string, { version: number; token: Promise<string>; until: number }>({
    max: 500,
  });
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Concurrent uses share one token request. A rotated credential requests a new token. */
  of(identity: CredentialIdentity, version: number, ask: () => Promise<ClientToken>): Promise<string> {
    const key = keyOf(identity);
    const known = this.#tokens.get(key);
    if (known?.version === version && known.until > this.#now()) {
      return known.token;
    }
    const since = this.#now();
    const entry = { version, token: Promise.resolve(''), until: Number.POSITIVE_INFINITY };
    entry.token = ask().then(
      ({ token, expiresInMs }) => {
        entry.until = since + validMs(expiresInMs);
        return token;
      },
      (error: unknown) => {
        entry.until = 0;
        throw error;
      },
    );
    this.#tokens.set(key, entry);
    return entry.token;
  }

  forget(identity: CredentialIdentity): void {
    this.#tokens.delete(keyOf(identity));
  }
}

function keyOf({ tenantId, spaceId, principalId, credentialId }: CredentialIdentity): string {
  return JSON.stringify([tenantId, spaceId, principalId, credentialId]);
}

function validMs(expiresInMs: number | null): number {
  const saidMs = Math.min(expiresInMs ?? unsaidMs, maxMs);
  return Math.max(saidMs - Math.min(marginMs, saidMs / 2), 0);
}
