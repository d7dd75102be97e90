import { randomBytes } from 'node:crypto';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';

/**
 * `at`: access token for the API. `rt`: refresh token. `lh`: handle that redeems one sign-in. Each endpoint accepts
 * exactly one kind.
 */
export type TokenKind = 'at' | 'rt' | 'lh';

const form = { at: /^at\.[\w-]{43}$/, rt: /^rt\.[\w-]{43}$/, lh: /^lh\.[\w-]{43}$/ };

/** 256 random bits, prefixed with their kind. */
export function mintToken(kind: TokenKind): string {
  return `${kind}.${randomBytes(32).toString('base64url')}`;
}

export function isToken(kind: TokenKind, text: string): boolean {
  return form[kind].test(text);
}

/** The stored form: a reader of the database cannot derive a token from it. */
export function hashToken(secrets: Secrets, token: string): string {
  return secrets.mac('token', token).toString('base64url');
}
