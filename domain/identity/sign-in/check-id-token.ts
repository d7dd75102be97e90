import { createHash } from 'node:crypto';
import { canonicalJson, sha256 } from '#domain/foundation/kernel/canonical-json.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import type { IdTokenClaims, VerifiedIdToken } from './oidc-client.ts';

export interface Expected {
  clientId: string;
  extraAudiences: readonly string[];
  /** Stored hash of the login transaction's nonce. */
  nonceHash: string;
  hashNonce(nonce: string): string;
  /** The access token that came with the ID token, null without one. */
  accessToken: string | null;
  /** Whether `at_hash` is required for an access token: yes from a caller, no straight from the provider. */
  needsAccessTokenHash: boolean;
}

/**
 * The remaining checks of an ID token whose signature, issuer, audience and times are valid. @throws
 * `id_token_invalid`
 */
export function checkIdToken(token: VerifiedIdToken, expected: Expected): void {
  const { claims, typ } = token;
  if (typ !== null && typ !== 'JWT') {
    throw idTokenInvalid();
  }
  const audiences = [claims.aud].flat();
  const known = new Set([expected.clientId, ...expected.extraAudiences]);
  if (!audiences.includes(expected.clientId) || audiences.some((audience) => !known.has(audience))) {
    throw idTokenInvalid();
  }
  if (claims.azp !== undefined && claims.azp !== expected.clientId) {
    throw idTokenInvalid();
  }
  if (expected.hashNonce(claims.nonce) !== expected.nonceHash) {
    throw idTokenInvalid();
  }
  if (
    claims.sub === '' ||
    claims.sub.length > 255 ||
    claims.sub.includes('\0') ||
    !claims.sub.isWellFormed()
  ) {
    throw idTokenInvalid();
  }
  checkAccessToken(token, expected);
}

function checkAccessToken({ claims, alg }: VerifiedIdToken, expected: Expected): void {
  const { accessToken, needsAccessTokenHash } = expected;
  const given = claims.at_hash;
  if (accessToken === null || (given === undefined && !needsAccessTokenHash)) {
    return;
  }
  if (given !== hashAccessToken(alg, accessToken)) {
    throw idTokenInvalid();
  }
}

/** The left half of the access token's digest, with the hash of the signature's algorithm. */
export function hashAccessToken(alg: string, accessToken: string): string {
  const bits = alg === 'EdDSA' ? '512' : alg.slice(-3);
  const digest = createHash(`sha${bits}`).update(accessToken, 'ascii').digest();
  return digest.subarray(0, digest.length / 2).toString('base64url');
}

/** The same for every encoding of the same token. */
export function claimsHash({ iss, sub, aud, nonce, iat }: IdTokenClaims): string {
  return sha256(canonicalJson([iss, sub, [aud].flat().sort(), nonce, iat]));
}

/** One response for every cause, so that a caller learns nothing about which part was wrong. */
export function idTokenInvalid(cause?: unknown): DomainError {
  return new DomainError(
    'id_token_invalid',
    'The identity provider’s answer is not valid for this sign-in.',
    {},
    { cause },
  );
}

export function transactionRequired(): DomainError {
  return new DomainError(
    'login_transaction_required',
    'There is no open sign-in for this: begin one with GET /v1/auth/oidc/{provider_id}/start.',
  );
}
