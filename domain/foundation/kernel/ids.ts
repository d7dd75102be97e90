import { randomBytes } from 'node:crypto';
import { v7 } from 'uuid';

const base32Alphabet = 'abcdefghijklmnopqrstuvwxyz234567';

/** Sorts before every id: where a keyset begins. */
export const nilUuid = '00000000-0000-0000-0000-000000000000';

/** Sorts after every id: where a keyset ends. */
export const maxUuid = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** Time-ordered uuid (version 7). */
export function newId(): string {
  return v7();
}

/** Lower-case base32 without padding. */
export function base32(bytes: Uint8Array): string {
  let bits = 0;
  let value = 0;
  let text = '';
  for (const byte of bytes) {
    value = (value << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += base32Alphabet.charAt((value >>> bits) & 31);
    }
    value &= (1 << bits) - 1;
  }
  return bits > 0 ? text + base32Alphabet.charAt((value << (5 - bits)) & 31) : text;
}

/** `resp_` and 160 random bits: an unguessable id. */
export function newResponseId(): string {
  return `resp_${base32(randomBytes(20))}`;
}
