import type { OAuthTokens } from '@modelcontextprotocol/client';
import type { IssuedTokens } from '#domain/capabilities/connections/authorization-servers.ts';
import { scopeOf } from './scope.ts';

/** Visible characters only: a token becomes a header. */
const tokenText = /^[\x21-\x7e]{1,8192}$/;
const maxSeconds = 315_360_000;

/**
 * A token that a resource demands a proof for is of type DPoP, and no other token is: a bearer token in answer to a proof
 * is not bound to the key, and one of type DPoP without a proof could never be used (RFC 9449, 5).
 * @throws Error for an answer that is not a token of the type that was asked for
 */
export function toIssuedTokens(
  tokens: OAuthTokens,
  { askedAt, isBound }: { askedAt: number; isBound: boolean },
): IssuedTokens {
  const type = tokens.token_type.toLowerCase();
  const isKnown = type === (isBound ? 'dpop' : 'bearer');
  const { access_token: accessToken, refresh_token: refreshToken = null, expires_in: seconds } = tokens;
  if (!isKnown || ![accessToken, refreshToken ?? accessToken].every((token) => tokenText.test(token))) {
    throw new Error('The answer is not a token.');
  }
  return {
    accessToken,
    tokenType: isBound ? 'DPoP' : 'Bearer',
    refreshToken,
    expiresAt:
      seconds === undefined ? null : new Date(askedAt + Math.min(Math.max(seconds, 0), maxSeconds) * 1_000),
    scope: scopeOf(tokens.scope?.split(' ') ?? []),
  };
}
