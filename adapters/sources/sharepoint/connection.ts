import type { ProviderConnection } from '../provider.ts';
import { presetAt } from '../shared/authorization-preset.ts';
import type { SharepointScope } from './scope.ts';

const worldwide = 'https://graph.microsoft.com';
/** Where people sign in, for each address of Microsoft Graph. */
const clouds = new Map([
  [worldwide, 'https://login.microsoftonline.com'],
  ['https://graph.microsoft.us', 'https://login.microsoftonline.us'],
  ['https://dod-graph.microsoft.us', 'https://login.microsoftonline.us'],
  ['https://microsoftgraph.chinacloudapi.cn', 'https://login.chinacloudapi.cn'],
]);

/** Microsoft Entra ID gives a refresh token only for the scope `offline_access`, and revokes no single token. */
export const sharepointConnection: ProviderConnection<SharepointScope> = {
  authorization: ({ api_url: url, tenant }) => {
    const { origin } = new URL(url);
    const graph = clouds.has(origin) ? origin : worldwide;
    const login = `${clouds.get(graph)}/${tenant}`;
    return presetAt(url, graph, {
      issuer: `${login}/v2.0`,
      authorizationUrl: `${login}/oauth2/v2.0/authorize`,
      tokenUrl: `${login}/oauth2/v2.0/token`,
      revocationUrl: null,
      scope: `${graph}/Sites.Read.All ${graph}/Files.Read.All offline_access`,
      parameters: {},
      clientAuthentication: 'client_secret_post',
    });
  },
};
