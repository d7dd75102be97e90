import {
  DpopSession,
  generateDpopKeyPair,
  withDpop,
  type DpopAlg,
  type DpopKeyPair,
} from '@modelcontextprotocol/client';
import { calculateJwkThumbprint, exportJWK, importJWK, type JWK } from 'jose';
import { LRUCache } from 'lru-cache';

/** A key for proofs of possession (RFC 9449) as JSON: the private key with its algorithm. */
export async function createDpopKey(alg: string): Promise<Record<string, unknown>> {
  const { privateKey } = await generateDpopKeyPair({ alg: alg as DpopAlg, extractable: true });
  return { ...(await exportJWK(privateKey)), alg };
}

/** Sessions of keys, which remember the nonces of each server. */
export class DpopSessions {
  readonly #sessions = new LRUCache<string, DpopSession>({ max: 1_000 });

  async of(key: Record<string, unknown>): Promise<DpopSession> {
    const { alg, d: _d, ...publicJwk } = key as JWK & { d?: string };
    const thumbprint = await calculateJwkThumbprint(publicJwk);
    const known = this.#sessions.get(thumbprint);
    if (known !== undefined) {
      return known;
    }
    const [privateKey, publicKey] = await Promise.all([importJWK(key, alg), importJWK(publicJwk, alg)]);
    const session = await DpopSession.create({
      keyPair: { privateKey, publicKey, publicJwk, thumbprint, alg } as DpopKeyPair,
    });
    this.#sessions.set(thumbprint, session);
    return session;
  }

  /** A fetch that sends the token with a proof of each request. A demand for a nonce is answered once. */
  fetch(
    fetch: typeof globalThis.fetch,
    { accessToken, dpopKey }: { accessToken: string; dpopKey: Record<string, unknown> },
  ) {
    return withDpop(
      () => this.of(dpopKey),
      () => accessToken,
    )((url, init) => fetch(url, init));
  }
}
