import type { z } from 'zod';
import type { openedSession, refreshedTokens } from '#api/contract/sign-in.ts';
import type { SessionTokens } from '#domain/identity/sessions/mint-tokens.ts';
import type { OpenedSession } from '#domain/identity/sign-in/open-session.ts';

export function presentTokens(tokens: SessionTokens): z.infer<typeof refreshedTokens> {
  return {
    access_token: tokens.accessToken,
    token_type: 'bearer',
    expires_in: tokens.expiresIn,
    refresh_token: tokens.refreshToken,
    refresh_expires_in: tokens.refreshExpiresIn,
  };
}

/** The contract's two members, followed by the tokens. */
export function presentOpened({
  sessionId,
  expiresAt,
  tokens,
}: OpenedSession): z.infer<typeof openedSession> {
  return { session_id: sessionId, expires_at: expiresAt.toISOString(), ...presentTokens(tokens) };
}
