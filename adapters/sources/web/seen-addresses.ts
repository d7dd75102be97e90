import { createHash } from 'node:crypto';

const hashBytes = 8;

/** Addresses of a listing, as hashes: what a cursor has to hold of each. */
export class SeenAddresses {
  readonly #hashes = new Set<string>();

  /** @param encoded of `encode` */
  constructor(encoded = '') {
    const bytes = Buffer.from(encoded, 'base64');
    for (let at = 0; at < bytes.length; at += hashBytes) {
      this.#hashes.add(bytes.toString('latin1', at, at + hashBytes));
    }
  }

  has(address: string): boolean {
    return this.#hashes.has(hashOf(address));
  }

  /** @returns false: it was there already */
  add(address: string): boolean {
    const { size } = this.#hashes;
    return this.#hashes.add(hashOf(address)).size > size;
  }

  encode(): string {
    return Buffer.from([...this.#hashes].join(''), 'latin1').toString('base64');
  }
}

function hashOf(address: string): string {
  return createHash('sha256').update(address).digest().toString('latin1', 0, hashBytes);
}
