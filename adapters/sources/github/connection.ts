import type { Dialect } from '../../authorization/dialect.ts';
import { basicAuthorization } from '../../egress/basic-authorization.ts';
import type { ProviderConnection } from '../provider.ts';
import { presetAt } from '../shared/authorization-preset.ts';
import { withStandardError, withStandardScope } from '../shared/standard-answer.ts';
import { withoutSlashes } from '../shared/web-url.ts';
import type { GithubScope } from './scope.ts';

const errors = new Map([
  ['bad_verification_code', 'invalid_grant'],
  ['bad_refresh_token', 'invalid_grant'],
  ['unverified_user_email', 'access_denied'],
  ['incorrect_client_credentials', 'invalid_client'],
  ['application_suspended', 'invalid_client'],
  ['redirect_uri_mismatch', 'invalid_client'],
]);

/**
 * GitHub answers refusals with status 200, separates scopes by commas, and revokes access tokens with a request of its
 * interface, for which the client authenticates; a refresh token ends with the access tokens of its grant.
 */
export const githubDialect: Dialect = {
  answer: (body) => withStandardScope(withStandardError(body, errors)),
  revoke: (endpoint, { client }, { token, kind }) =>
    kind === 'refresh_token'
      ? null
      : {
          url: `${endpoint}/${encodeURIComponent(client.clientId)}/token`,
          init: {
            method: 'DELETE',
            headers: {
              accept: 'application/vnd.github+json',
              authorization: basicAuthorization(client.clientId, client.clientSecret ?? ''),
              'content-type': 'application/json',
              'user-agent': 'platform',
            },
            body: JSON.stringify({ access_token: token }),
          },
        },
  // 404 and 422: the token is no longer known.
  isRevoked: (status) => [204, 404, 422].includes(status),
};

/** GitHub Apps ignore scopes: their permissions count. OAuth apps have none that only reads private repositories. */
export const githubConnection: ProviderConnection<GithubScope> = {
  authorization: ({ api_url: url }) => ({
    ...presetAt(url, 'https://api.github.com', {
      issuer: 'https://github.com/login/oauth',
      authorizationUrl: 'https://github.com/login/oauth/authorize',
      tokenUrl: 'https://github.com/login/oauth/access_token',
      revocationUrl: null,
      scope: 'repo',
      parameters: {},
      clientAuthentication: 'client_secret_post',
    }),
    revocationUrl: `${withoutSlashes(url)}/applications`,
  }),
  dialect: githubDialect,
};
