import type { AuthorizationServers } from '#domain/capabilities/connections/authorization-servers.ts';

const origin = 'https://tools.example.com/';
const issuer = 'https://login.example.com';

/**
 * The authorization server of the tool server that fixtures of the API name and that does not exist; others are asked
 * for real.
 */
export function withStandIn(real: AuthorizationServers): AuthorizationServers {
  return {
    ...real,
    discover: async (resource, signal) =>
      resource.url.startsWith(origin)
        ? {
            tenantId: resource.tenantId,
            issuer,
            resource: resource.url,
            scope: 'tools.read',
            dpopAlg: null,
            acceptsClientDocuments: false,
            registersClients: true,
            metadata: {
              issuer,
              authorization_endpoint: `${issuer}/authorize`,
              token_endpoint: `${issuer}/token`,
              response_types_supported: ['code'],
              code_challenge_methods_supported: ['S256'],
            },
          }
        : real.discover(resource, signal),
    register: async (target, client, signal) =>
      target.issuer === issuer
        ? {
            clientId: 'stand-in',
            clientSecret: 'stand-in-secret',
            privateKey: null,
            authMethod: 'client_secret_basic',
            secretExpiresAt: null,
            scope: null,
          }
        : real.register(target, client, signal),
    exchange: async (grant, code, signal) =>
      grant.target.issuer === issuer
        ? {
            accessToken: `access-${code.code}`,
            tokenType: 'Bearer',
            refreshToken: `refresh-${code.code}`,
            expiresAt: new Date(Date.now() + 3_600_000),
            scope: null,
          }
        : real.exchange(grant, code, signal),
    revoke: async (grant, token, signal) =>
      grant.target.issuer === issuer ? true : real.revoke(grant, token, signal),
  };
}
