import type { OAuthTokens } from '@modelcontextprotocol/client';
import type { IssuedTokens } from '#domain/capabilities/connections/authorization-servers.ts';
import { scopeOf } from './scope.ts';

/** Visible characters only: a token becomes a header. */
const tokenText = /^[\x21-\x7e]{1,8192}$/;
const maxSeconds = 315_360_000;

/** @throws Error for an answer that is not a token of a known type */
export function toIssuedTokens(tokens: OAuthTokens, askedAt: number): IssuedTokens {
  const type = tokens.token_type.toLowerCase();
  const isKnown = type === 'bearer' || type === 'dpop';
  const { access_token: accessToken, refresh_token: refreshToken = null, expires_in: seconds } = tokens;
  if (!isKnown || ![accessToken, refreshToken ?? accessToken].every((token) => tokenText.test(token))) {
    throw new Error('The answer is not a token.');
  }
  return {
    accessToken,
    tokenType: type === 'dpop' ? 'DPoP' : 'Bearer',
    refreshToken,
    expiresAt:
      seconds === undefined ? null : new Date(askedAt + Math.min(Math.max(seconds, 0), maxSeconds) * 1_000),
    scope: scopeOf(tokens.scope?.split(' ') ?? []),
  };
}
