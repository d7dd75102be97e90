import type { Dialect } from '../../authorization/dialect.ts';
import type { ProviderConnection } from '../provider.ts';
import { presetAt } from '../shared/authorization-preset.ts';
import { withStandardError, withStandardScope } from '../shared/standard-answer.ts';
import type { SlackScope } from './scope.ts';

const errors = new Map([
  ['invalid_code', 'invalid_grant'],
  ['code_already_used', 'invalid_grant'],
  ['invalid_refresh_token', 'invalid_grant'],
  ['token_expired', 'invalid_grant'],
  ['token_revoked', 'invalid_grant'],
  ['invalid_client_id', 'invalid_client'],
  ['bad_client_secret', 'invalid_client'],
  ['bad_redirect_uri', 'invalid_client'],
  ['invalid_scope', 'invalid_scope'],
  ['no_scopes', 'invalid_scope'],
  ['ratelimited', 'temporarily_unavailable'],
  ['internal_error', 'temporarily_unavailable'],
  ['fatal_error', 'temporarily_unavailable'],
  ['service_unavailable', 'temporarily_unavailable'],
  ['request_timeout', 'temporarily_unavailable'],
]);
const ended = new Set(['token_revoked', 'token_expired', 'invalid_auth', 'account_inactive']);

/**
 * Slack separates scopes by commas, answers refusals with status 200 and `ok: false`, calls the type of a token by its
 * owner, and puts that of a person under `authed_user`. The proof key is an option of public clients there, which an
 * app with a secret is not.
 */
export const slackDialect: Dialect = {
  authorize: ({ searchParams: query }) => {
    query.delete('code_challenge');
    query.delete('code_challenge_method');
    query.set('scope', (query.get('scope') ?? '').replaceAll(' ', ','));
  },
  ask: (form) => form.delete('code_verifier'),
  answer: (body) => {
    if (body['ok'] === false) {
      return withStandardError({ error: 'unknown', ...body }, errors);
    }
    const person = Object(body['authed_user']) as Record<string, unknown>;
    const {
      access_token: token,
      refresh_token: refresh,
      expires_in: seconds,
      scope,
    } = typeof body['access_token'] === 'string' ? body : person;
    return withStandardScope({
      token_type: 'Bearer',
      access_token: token,
      ...(refresh === undefined ? {} : { refresh_token: refresh }),
      ...(seconds === undefined ? {} : { expires_in: seconds }),
      ...(scope === undefined ? {} : { scope }),
    });
  },
  // A refresh token ends with the access token of its app in the workspace.
  revoke: (endpoint, _grant, { token, kind }) =>
    kind === 'refresh_token'
      ? null
      : { url: endpoint, init: { method: 'POST', headers: { authorization: `Bearer ${token}` } } },
  isRevoked: (status, body) => status < 300 && (body['ok'] === true || ended.has(String(body['error']))),
};

const publicChannels = ['channels:read', 'channels:history', 'users:read'];
const privateChannels = ['groups:read', 'groups:history'];

/** Private channels are read only where the scope names channels. */
export const slackConnection: ProviderConnection<SlackScope> = {
  authorization: ({ api_url: url, channels }) =>
    presetAt(url, 'https://slack.com', {
      issuer: 'https://slack.com',
      authorizationUrl: 'https://slack.com/oauth/v2/authorize',
      tokenUrl: 'https://slack.com/api/oauth.v2.access',
      revocationUrl: 'https://slack.com/api/auth.revoke',
      scope: [...publicChannels, ...(channels.length > 0 ? privateChannels : [])].join(' '),
      parameters: {},
      clientAuthentication: 'client_secret_post',
    }),
  dialect: slackDialect,
};
