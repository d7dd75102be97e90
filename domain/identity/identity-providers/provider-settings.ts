import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import { DomainError, invalid } from '#domain/foundation/kernel/errors.ts';
import { isLoopback } from '#domain/foundation/kernel/is-loopback.ts';

/** Asymmetric only: with a shared secret, every verifier could forge tokens. */
export const signingAlgs = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
] as const;
export type SigningAlg = (typeof signingAlgs)[number];

/**
 * `automatic`: every subject that the provider vouches for becomes a user. `known`: only subjects with a linked
 * identity sign in.
 */
export const provisionings = ['automatic', 'known'] as const;
export type Provisioning = (typeof provisionings)[number];

export const providerSlug = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** Whether a text is read as an id where an id or a slug may stand; no slug has this form. */
export function hasIdForm(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
}

/** Stored as written, because ID tokens are compared with it character by character. @throws `url_not_allowed` */
export function issuerUrl(text: string): string {
  const url = URL.parse(text);
  const plain =
    url !== null && url.username === '' && url.password === '' && url.hash === '' && url.search === '';
  if (!plain || (url.protocol !== 'https:' && url.protocol !== 'http:') || text !== text.trim()) {
    throw new DomainError(
      'url_not_allowed',
      'issuer must be an http(s) address without query or credentials.',
      {
        param: 'issuer',
      },
    );
  }
  return text;
}

/**
 * Redirect addresses of finished sign-ins: https, or http on the local machine. Stored in the one spelling that a
 * browser uses. @throws `url_not_allowed`
 */
export function redirectUris(texts: readonly string[]): string[] {
  return [...new Set(texts.map(redirectUri))];
}

function redirectUri(text: string): string {
  const url = URL.parse(text);
  const safe =
    url !== null &&
    url.href === text &&
    url.hash === '' &&
    url.username === '' &&
    url.password === '' &&
    !text.includes('*') &&
    (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname)));
  if (!safe) {
    throw new DomainError(
      'url_not_allowed',
      'redirect_uris are https addresses (http only on the loopback interface), spelled as browsers do, without fragment or credentials.',
      { param: 'redirect_uris' },
    );
  }
  return text;
}

export function displayName(text: string): string {
  const name = cleanText(text).trim();
  if (name === '' || name.length > 200) {
    throw invalid('display_name', 'display_name must have 1 to 200 characters.');
  }
  return name;
}
