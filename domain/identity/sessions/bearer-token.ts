import { randomBytes } from 'node:crypto';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';

/** `at`: opens the API. `rt`: renews it. `lh`: redeems one sign-in. Each door takes one kind and no other. */
export type TokenKind = 'at' | 'rt' | 'lh';

const form = { at: /^at\.[\w-]{43}$/, rt: /^rt\.[\w-]{43}$/, lh: /^lh\.[\w-]{43}$/ };

/** 256 random bits under the prefix of their kind. */
export function mintToken(kind: TokenKind): string {
  return `${kind}.${randomBytes(32).toString('base64url')}`;
}

export function isToken(kind: TokenKind, text: string): boolean {
  return form[kind].test(text);
}

/** What is stored: nobody who reads the database can make a token of it. */
export function hashToken(secrets: Secrets, token: string): string {
  return secrets.mac('token', token).toString('base64url');
}
