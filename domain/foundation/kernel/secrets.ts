import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createPrivateKey,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';

type MacPurpose =
  | 'api-key'
  | 'cursor'
  | 'fingerprint'
  | 'pii-token'
  | 'response-item'
  | 'tool-call'
  | 'token';

const ed25519Prefix = Buffer.from('302e020100300506032b657004220420', 'hex');

/**
 * The deployment's keys, each derived from the master key for one purpose, so that a value made for one purpose is
 * invalid for another.
 */
export class Secrets {
  readonly #master: Buffer;
  /** Cached as key objects: with bytes, every use would create one. */
  readonly #derived = new Map<string, KeyObject>();

  /** @param masterKey 32 random bytes in base64. */
  constructor(masterKey: string) {
    this.#master = Buffer.from(masterKey, 'base64');
  }

  /** HMAC-SHA-256 of `text` under the key of `purpose`. */
  mac(purpose: MacPurpose, text: string): Buffer {
    return macUnder(this.#key(purpose), text);
  }

  /** The key of one purpose alone, for a thread that has no other purpose. */
  macKey(purpose: MacPurpose): KeyObject {
    return this.#key(purpose);
  }

  /** A new 256-bit key, in plain form and in stored form: wrapped for `place`, in base64url. */
  newDataKey(place: string): { key: Buffer; wrapped: string } {
    const key = randomBytes(32);
    const iv = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', this.#key('data-key'), iv).setAAD(Buffer.from(place));
    const sealed = Buffer.concat([iv, cipher.update(key), cipher.final(), cipher.getAuthTag()]);
    return { key, wrapped: sealed.toString('base64url') };
  }

  /** @throws when `wrapped` was changed, was wrapped for another place, or under another master key. */
  openDataKey(place: string, wrapped: string): Buffer {
    const sealed = Buffer.from(wrapped, 'base64url');
    const cipher = createDecipheriv('aes-256-gcm', this.#key('data-key'), sealed.subarray(0, 12), {
      authTagLength: 16,
    })
      .setAAD(Buffer.from(place))
      .setAuthTag(sealed.subarray(-16));
    return Buffer.concat([cipher.update(sealed.subarray(12, -16)), cipher.final()]);
  }

  /** The Ed25519 key that certificates of erasure are signed with. */
  certificateKey(): KeyObject {
    const seed = hkdfSync('sha256', this.#master, Buffer.alloc(0), 'platform/erasure-certificate', 32);
    // PKCS #8 of an Ed25519 key is this prefix and the seed.
    const key = Buffer.concat([ed25519Prefix, Buffer.from(seed)]);
    return createPrivateKey({ key, format: 'der', type: 'pkcs8' });
  }

  #key(purpose: MacPurpose | 'data-key'): KeyObject {
    let key = this.#derived.get(purpose);
    if (key === undefined) {
      const bytes = hkdfSync('sha256', this.#master, Buffer.alloc(0), `platform/${purpose}`, 32);
      key = createSecretKey(Buffer.from(bytes));
      this.#derived.set(purpose, key);
    }
    return key;
  }
}

export function macUnder(key: KeyObject, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
