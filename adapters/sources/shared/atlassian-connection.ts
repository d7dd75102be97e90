import type { ProviderConnection } from '../provider.ts';
import { presetAt } from './authorization-preset.ts';

/**
 * Accounts of a product of Atlassian's cloud. Tokens of apps are accepted at the address with the cloud id only, not at
 * that of a site.
 * @param scopesOf what a token may do, without `offline_access`
 */
export function atlassianConnection<Scope extends { base_url: string }>(
  scopesOf: (scope: Scope) => readonly string[],
): ProviderConnection<Scope> {
  return {
    authorization: (scope) =>
      new URL(scope.base_url).hostname.endsWith('.atlassian.net')
        ? null
        : presetAt(scope.base_url, 'https://api.atlassian.com', {
            issuer: 'https://auth.atlassian.com',
            authorizationUrl: 'https://auth.atlassian.com/authorize',
            tokenUrl: 'https://auth.atlassian.com/oauth/token',
            revocationUrl: null,
            scope: [...scopesOf(scope), 'offline_access'].join(' '),
            parameters: { audience: 'api.atlassian.com', prompt: 'consent' },
            clientAuthentication: 'client_secret_post',
          }),
    // The type of a token is left out in some answers.
    dialect: {
      answer: (body) =>
        'access_token' in body && !('token_type' in body) ? { ...body, token_type: 'Bearer' } : body,
    },
  };
}
