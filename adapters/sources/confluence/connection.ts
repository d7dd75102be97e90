import type { ProviderConnection } from '../provider.ts';
import { presetAt } from '../shared/authorization-preset.ts';
import type { ConfluenceScope } from './scope.ts';

const pages = ['read:page:confluence', 'read:space:confluence'];
const readers = [
  'read:content.metadata:confluence',
  'read:content.restriction:confluence',
  'read:space.permission:confluence',
  'read:user:confluence',
  'read:group:confluence',
];

/** Tokens of apps are accepted at the address with the cloud id only, not at that of a site. */
export const confluenceConnection: ProviderConnection<ConfluenceScope> = {
  authorization: ({ base_url: url, readers: readsReaders }) =>
    new URL(url).hostname.endsWith('.atlassian.net')
      ? null
      : presetAt(url, 'https://api.atlassian.com', {
          issuer: 'https://auth.atlassian.com',
          authorizationUrl: 'https://auth.atlassian.com/authorize',
          tokenUrl: 'https://auth.atlassian.com/oauth/token',
          revocationUrl: null,
          scope: [...pages, ...(readsReaders ? readers : []), 'offline_access'].join(' '),
          parameters: { audience: 'api.atlassian.com', prompt: 'consent' },
          clientAuthentication: 'client_secret_post',
        }),
  // The type of a token is left out in some answers.
  dialect: {
    answer: (body) =>
      'access_token' in body && !('token_type' in body) ? { ...body, token_type: 'Bearer' } : body,
  },
};
