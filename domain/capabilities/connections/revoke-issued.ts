import type { AuthorizationServers, Grant, IssuedTokens } from './authorization-servers.ts';

/** Per request to the authorization server. */
export const revocationMs = 5_000;

/**
 * Revokes tokens that could be given to nobody, as far as the authorization server answers. With the refresh token it
 * ends the whole grant.
 */
export async function revokeIssued(
  { authorizationServers }: { authorizationServers: AuthorizationServers },
  grant: Grant,
  { accessToken, refreshToken }: Pick<IssuedTokens, 'accessToken' | 'refreshToken'>,
): Promise<void> {
  const token =
    refreshToken === null
      ? ({ token: accessToken, kind: 'access_token' } as const)
      : ({ token: refreshToken, kind: 'refresh_token' } as const);
  await authorizationServers.revoke(grant, token, AbortSignal.timeout(revocationMs)).catch(() => undefined);
}
