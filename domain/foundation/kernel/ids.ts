import { randomBytes, randomInt } from 'node:crypto';
import { v7 } from 'uuid';

const base32Alphabet = 'abcdefghijklmnopqrstuvwxyz234567';

/** Sorts before every id: where a keyset begins. */
export const nilUuid = '00000000-0000-0000-0000-000000000000';

/** Sorts after every id: where a keyset ends. */
export const maxUuid = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** How late the clock may be set while ids go on from the last one: further, its jump ahead was an error. */
const maxLeadMs = 5_000;
/** Sequences begin in the lower half of their 32 bits, so that many follow within a millisecond. */
const firstSequences = 2 ** 31;
const last = { msecs: 0, seq: 0 };

/**
 * Time-ordered uuid (version 7): each sorts behind those before it of the process, also where the clock is set back a
 * little. After a jump ahead and back they have the time of the clock again; the package's own state would stay ahead.
 */
export function newId(): string {
  const now = Date.now();
  if (now > last.msecs || last.msecs - now > maxLeadMs) {
    last.msecs = now;
    last.seq = randomInt(firstSequences);
  } else {
    last.seq = (last.seq + 1) >>> 0;
    last.msecs += last.seq === 0 ? 1 : 0;
  }
  return v7(last);
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
