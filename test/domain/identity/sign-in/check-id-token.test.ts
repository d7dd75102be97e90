import { describe, expect, it } from 'vitest';
import {
  checkIdToken,
  claimsHash,
  hashAccessToken,
  type Expected,
} from '#domain/identity/sign-in/check-id-token.ts';
import type { VerifiedIdToken } from '#domain/identity/sign-in/oidc-client.ts';

const claims = { iss: 'https://id.example.com', sub: 'ada', aud: 'client', iat: 1, exp: 2, nonce: 'given' };
const token = (more: object = {}, head: Partial<VerifiedIdToken> = {}): VerifiedIdToken => ({
  alg: 'ES256',
  typ: 'JWT',
  ...head,
  claims: { ...claims, ...more },
});
const expected: Expected = {
  clientId: 'client',
  extraAudiences: ['listed'],
  nonceHash: 'hash of given',
  hashNonce: (nonce) => `hash of ${nonce}`,
  accessToken: null,
  needsAccessTokenHash: true,
};
const invalid = expect.objectContaining({ code: 'id_token_invalid' });

describe('an ID token whose signature is right', () => {
  it.each([
    ['as it should be', token()],
    ['of no type', token({}, { typ: null })],
    ['for a listed audience more', token({ aud: ['client', 'listed'] })],
    ['for the client as authorized party', token({ azp: 'client' })],
  ])('is accepted %s', (_what, good) => {
    expect(() => checkIdToken(good, expected)).not.toThrow();
  });

  it.each([
    ['with another nonce', token({ nonce: 'other' })],
    ['of another type', token({}, { typ: 'at+jwt' })],
    ['for an audience that is not listed', token({ aud: ['client', 'other'] })],
    ['for a listed audience only', token({ aud: ['listed'] })],
    ['for another authorized party', token({ azp: 'listed' })],
    ['of nobody', token({ sub: '' })],
  ])('is refused %s', (_what, bad) => {
    expect(() => checkIdToken(bad, expected)).toThrow(invalid);
  });

  it('must contain the hash of an access token that a caller presents', () => {
    const presented = { ...expected, accessToken: 'token' };
    expect(() => checkIdToken(token(), presented)).toThrow(invalid);
    expect(() =>
      checkIdToken(token({ at_hash: hashAccessToken('ES256', 'token') }), presented),
    ).not.toThrow();
    expect(() => checkIdToken(token(), { ...presented, needsAccessTokenHash: false })).not.toThrow();
    expect(() =>
      checkIdToken(token({ at_hash: 'x' }), { ...presented, needsAccessTokenHash: false }),
    ).toThrow(invalid);
  });

  it('has the hash of the example in OpenID Connect Core', () => {
    expect(hashAccessToken('RS256', 'jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y')).toBe(
      '77QmUPtjPfzWtF2AnpK9RQ',
    );
  });

  it('is identified by its claims, in any order', () => {
    const { iss, sub, aud, iat, nonce, exp } = claims;
    expect(claimsHash({ nonce, iat, exp, aud: [aud], sub, iss })).toBe(claimsHash(claims));
    expect(claimsHash({ ...claims, sub: 'grace' })).not.toBe(claimsHash(claims));
  });
});
