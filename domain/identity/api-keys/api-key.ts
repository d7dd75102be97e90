import { randomBytes, randomInt, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const keyIdAlphabet = '0123456789abcdefghijklmnopqrstuvwxyz';
const pattern = /^ak\.([0-9a-z]{16})\.([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/;

export interface MintedKey {
  /** `ak.<key_id>.<secret>`: shown once, never stored. */
  token: string;
  keyId: string;
  secretHash: string;
}

/** A new key: 16 characters of id, 256 random bits in base62 and a checksum that scanners can verify offline. */
export function mintApiKey(secrets: Secrets, keyId = newKeyId()): MintedKey {
  const secret = toBase62(BigInt(`0x${randomBytes(32).toString('hex')}`), 43);
  const token = `ak.${keyId}.${secret}`;
  const checksum = toBase62(BigInt(crc32(token)), 6);
  return { token: token + checksum, keyId, secretHash: hashSecret(secrets, secret + checksum) };
}

function newKeyId(): string {
  return Array.from({ length: 16 }, () => keyIdAlphabet.charAt(randomInt(36))).join('');
}

/** The key's parts if its form and checksum are valid, else null, which saves the look-up. */
export function parseApiKey(token: string): { keyId: string; secret: string } | null {
  const match = pattern.exec(token);
  if (match === null) {
    return null;
  }
  const [, keyId = '', secret = '', checksum = ''] = match;
  return toBase62(BigInt(crc32(`ak.${keyId}.${secret}`)), 6) === checksum
    ? { keyId, secret: secret + checksum }
    : null;
}

/** Constant time, whatever hash is `stored`. */
export function secretMatches(secrets: Secrets, secret: string, stored: string): boolean {
  return timingSafeEqual(Buffer.from(hashSecret(secrets, secret)), Buffer.from(stored));
}

function hashSecret(secrets: Secrets, secret: string): string {
  return secrets.mac('api-key', secret).toString('base64url');
}

function toBase62(value: bigint, length: number): string {
  let text = '';
  for (let rest = value; text.length < length; rest /= 62n) {
    text = base62.charAt(Number(rest % 62n)) + text;
  }
  return text;
}
