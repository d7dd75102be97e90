import { createPrivateKey, type KeyObject } from 'node:crypto';

const curves = new Set(['prime256v1', 'secp384r1', 'secp521r1']);
const minRsaBits = 2_048;
const maxRsaBits = 8_192;

/** Whether a client can sign its assertions (RFC 7523) with this text, a private key in PEM. */
export function isClientKey(pem: string): boolean {
  if (!/^\s*-----BEGIN PRIVATE KEY-----/.test(pem)) {
    return false;
  }
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch {
    return false;
  }
  const { namedCurve = '', modulusLength = 0 } = key.asymmetricKeyDetails ?? {};
  switch (key.asymmetricKeyType) {
    case 'rsa':
      return modulusLength >= minRsaBits && modulusLength <= maxRsaBits;
    case 'ec':
      return curves.has(namedCurve);
    default:
      return key.asymmetricKeyType === 'ed25519';
  }
}
