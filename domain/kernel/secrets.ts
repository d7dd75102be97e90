import { createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';

/**
 * The deployment's keys, each derived from the master key for one purpose, so that a value made for one
 * cannot serve another.
 */
export class Secrets {
  readonly #master: Buffer;
  /** As key objects: from bytes, every use would make one. */
  readonly #derived = new Map<string, KeyObject>();

  /** @param masterKey 32 random bytes in base64. */
  constructor(masterKey: string) {
    this.#master = Buffer.from(masterKey, 'base64');
  }

  /** HMAC-SHA-256 of `text` under the key of `purpose`. */
  mac(purpose: 'api-key' | 'cursor' | 'response-item' | 'tool-call', text: string): Buffer {
    let key = this.#derived.get(purpose);
    if (key === undefined) {
      const bytes = hkdfSync('sha256', this.#master, Buffer.alloc(0), `platform/${purpose}`, 32);
      key = createSecretKey(Buffer.from(bytes));
      this.#derived.set(purpose, key);
    }
    return createHmac('sha256', key).update(text).digest();
  }
}
