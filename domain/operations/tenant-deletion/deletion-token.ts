import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';

const form = /^dc\.[\w-]{43}$/;

/** Reads one deletion's certificate, also when the tenant is gone: 256 random bits. Shown once. */
export function mintDeletionToken(): string {
  return `dc.${randomBytes(32).toString('base64url')}`;
}

/** The stored form. A hash of one purpose is never valid for another. */
export function hashDeletionToken(secrets: Secrets, token: string): string {
  return secrets.mac('token', `deletion|${token}`).toString('base64url');
}

export function matchesToken(secrets: Secrets, token: string, hash: string): boolean {
  const [sent, stored] = [Buffer.from(hashDeletionToken(secrets, token)), Buffer.from(hash)];
  return form.test(token) && sent.length === stored.length && timingSafeEqual(sent, stored);
}
