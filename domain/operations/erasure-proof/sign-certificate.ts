import { createPublicKey, sign, type KeyObject } from 'node:crypto';
import { canonicalJson, sha256 } from '#domain/foundation/kernel/canonical-json.ts';
import { certificateSchema, foundNothing, type Certificate, type SignedCertificate } from './certificate.ts';

/**
 * Signs what was erased. @param privateKey Ed25519, `secrets.certificateKey()`
 * @throws when the verification found anything
 */
export function signCertificate(certificate: Certificate, privateKey: KeyObject): SignedCertificate {
  const parsed = certificateSchema.parse(certificate);
  if (!foundNothing(parsed.verification)) throw new Error('Nothing is certified while something is left.');
  const publicKey = publicKeyText(privateKey);
  return {
    certificate: parsed,
    signature: {
      algorithm: 'Ed25519',
      key_id: keyIdOf(publicKey),
      public_key: publicKey,
      value: sign(null, Buffer.from(canonicalJson(parsed)), privateKey).toString('base64url'),
    },
  };
}

/** The 32 bytes of an Ed25519 public key in base64url, also of a private key. */
export function publicKeyText(key: KeyObject): string {
  const { x = '' } = (key.type === 'private' ? createPublicKey(key) : key).export({ format: 'jwk' });
  return x;
}

export const keyIdOf = (publicKey: string): string => sha256(publicKey).slice(0, 16);
