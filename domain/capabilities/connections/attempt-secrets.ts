import { randomBytes } from 'node:crypto';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';

/** `state` and `nonce` are looked up before there is a tenant, `handle` in the tenant of its caller. */
export type AttemptSecret = 'nonce' | 'state' | 'handle' | 'cookie';

/** Hashes depend on the purpose: a state is never valid as a nonce or a cookie. */
export function hashFor(secrets: Secrets, purpose: AttemptSecret, value: string): string {
  return secrets.mac('token', `mcp-auth/${purpose}|${value}`).toString('base64url');
}

export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** A signed nonce: a nonce that was not made here is refused without a query. */
export function newNonce(secrets: Secrets): string {
  const value = newSecret();
  return `${value}.${signatureOf(secrets, value)}`;
}

export function isNonce(secrets: Secrets, text: string): boolean {
  const [value = '', signature, ...rest] = text.split('.');
  return rest.length === 0 && signature === signatureOf(secrets, value);
}

/** Proves that the question was shown to the browser that has the cookie. */
export function csrfOf(secrets: Secrets, { id, cookie }: { id: string; cookie: string }): string {
  return secrets.mac('token', `mcp-auth/csrf|${id}|${cookie}`).toString('base64url');
}

function signatureOf(secrets: Secrets, value: string): string {
  return secrets.mac('token', `mcp-auth/signature|${value}`).toString('base64url').slice(0, 22);
}
