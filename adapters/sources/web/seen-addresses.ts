import { createHash } from 'node:crypto';

const hashBytes = 7;
/** A hash and whether it is marked. */
const entryBytes = hashBytes + 1;

/** Addresses of a listing, as hashes: what a cursor has to hold of each. */
export class SeenAddresses {
  readonly #marks = new Map<string, boolean>();

  /** @param encoded of `encode` */
  constructor(encoded = '') {
    const bytes = Buffer.from(encoded, 'base64');
    for (let at = 0; at < bytes.length; at += entryBytes) {
      this.#marks.set(bytes.toString('latin1', at, at + hashBytes), bytes[at + hashBytes] === 1);
    }
  }

  has(address: string): boolean {
    return this.#marks.has(hashOf(address));
  }

  isMarked(address: string): boolean {
    return this.#marks.get(hashOf(address)) === true;
  }

  mark(address: string): void {
    this.#marks.set(hashOf(address), true);
  }

  add(address: string): void {
    const hash = hashOf(address);
    if (!this.#marks.has(hash)) this.#marks.set(hash, false);
  }

  encode(): string {
    const entries = Array.from(this.#marks, ([hash, isMarked]) => `${hash}${isMarked ? '\u0001' : '\0'}`);
    return Buffer.from(entries.join(''), 'latin1').toString('base64');
  }
}

function hashOf(address: string): string {
  return createHash('sha256').update(address).digest().toString('latin1', 0, hashBytes);
}
