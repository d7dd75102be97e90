import { createPublicKey, verify, type KeyObject } from 'node:crypto';
import { canonicalJson } from '#domain/foundation/kernel/canonical-json.ts';
import { foundNothing, signedCertificateSchema, type Certificate } from './certificate.ts';

export type CertificateCheck = { valid: true; certificate: Certificate } | { valid: false; reason: string };

/**
 * Checks a certificate's file without a database. @param publicKey the platform's key as its operator publishes it, in
 * base64url; the key that the file names proves nothing by itself
 */
export function verifyCertificate(file: string, publicKey: string): CertificateCheck {
  let parsed: ReturnType<typeof signedCertificateSchema.safeParse>;
  try {
    parsed = signedCertificateSchema.safeParse(JSON.parse(file));
  } catch {
    return { valid: false, reason: 'The file is not JSON.' };
  }
  if (!parsed.success) return { valid: false, reason: 'The file is not a certificate of this platform.' };
  const { certificate, signature } = parsed.data;
  if (signature.public_key !== publicKey) {
    return {
      valid: false,
      reason: `It is signed with the key ${signature.public_key}, not with ${publicKey}.`,
    };
  }
  const key = readKey(publicKey);
  if (key === null)
    return { valid: false, reason: `${publicKey} is no Ed25519 key of 32 bytes in base64url.` };
  const signed = verify(
    null,
    Buffer.from(canonicalJson(certificate)),
    key,
    Buffer.from(signature.value, 'base64url'),
  );
  if (signed && !foundNothing(certificate.verification)) {
    return { valid: false, reason: 'It says that something was left.' };
  }
  return signed
    ? { valid: true, certificate }
    : { valid: false, reason: 'The signature does not fit what the certificate says.' };
}

function readKey(publicKey: string): KeyObject | null {
  try {
    return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: publicKey }, format: 'jwk' });
  } catch {
    return null;
  }
}
