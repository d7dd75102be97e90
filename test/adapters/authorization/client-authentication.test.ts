import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type {
  AuthorizationServers,
  ClientAuthMethod,
  Grant,
  OAuthClient,
} from '#domain/capabilities/connections/authorization-servers.ts';
import {
  startAuthorizationServer,
  type AuthorizationServer,
} from '../../support/authorization/authorization-server.ts';
import { startProtectedServer, type ProtectedServer } from '../../support/authorization/protected-server.ts';
import {
  connect,
  discoverFrom,
  knownClient,
  never,
  redirectUri,
  serversFor,
} from '../../support/authorization/journey.ts';

const pairs = {
  ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  RS256: generateKeyPairSync('rsa', { modulusLength: 2_048 }),
  EdDSA: generateKeyPairSync('ed25519'),
};
type Alg = keyof typeof pairs;
const pem = (alg: Alg) => pairs[alg].privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;

/** Form-encoding changes it: both sides must agree. */
const secret = 'a secret+with/%41=signs';
const shared = {
  redirect_uris: [redirectUri],
  grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
  response_types: ['code' as const],
};
const secretMethods = ['client_secret_basic', 'client_secret_post'] as const;
const clients = [
  ...secretMethods.map((method) => ({
    ...shared,
    client_id: method,
    client_secret: secret,
    token_endpoint_auth_method: method,
  })),
  {
    ...shared,
    client_id: 'none',
    token_endpoint_auth_method: 'none' as const,
    grant_types: ['authorization_code'],
  },
  ...(Object.keys(pairs) as Alg[]).map((alg) => ({
    ...shared,
    client_id: alg,
    token_endpoint_auth_method: 'private_key_jwt' as const,
    token_endpoint_auth_signing_alg: alg,
    jwks: { keys: [pairs[alg].publicKey.export({ format: 'jwk' })] },
  })),
];

let authorization: AuthorizationServer;
let resource: ProtectedServer;
let servers: AuthorizationServers;
beforeAll(async () => {
  authorization = await startAuthorizationServer({ clients });
  resource = await startProtectedServer({ authorization });
  servers = serversFor(authorization.issuer, resource.origin);
});
afterAll(async () => {
  await resource?.stop();
  await authorization?.stop();
});

async function grantOf(client: OAuthClient): Promise<Grant> {
  return { target: await discoverFrom(servers, resource.url), client, dpopKey: null };
}

describe.each<[ClientAuthMethod, OAuthClient]>([
  ['client_secret_basic', knownClient({ clientId: 'client_secret_basic', clientSecret: secret })],
  [
    'client_secret_post',
    knownClient({ clientId: 'client_secret_post', clientSecret: secret, authMethod: 'client_secret_post' }),
  ],
  ['none', knownClient({ clientId: 'none' })],
  ['private_key_jwt', knownClient({ clientId: 'ES256', privateKey: pem('ES256') })],
  ['private_key_jwt', knownClient({ clientId: 'RS256', privateKey: pem('RS256') })],
  ['private_key_jwt', knownClient({ clientId: 'EdDSA', privateKey: pem('EdDSA') })],
])('a client with the method %s', (_method, client) => {
  it(`exchanges a code as ${client.clientId}`, async () => {
    const target = await discoverFrom(servers, resource.url);
    const { tokens } = await connect({ servers, target, ...authorization, client });
    expect(await authorization.find(tokens.accessToken)).toMatchObject({
      sub: 'ada',
      resource: resource.url,
    });
  });

  it(`acts for itself as ${client.clientId}, and revokes, unless it is public`, async () => {
    if (client.clientId === 'none') {
      const refused = servers.clientCredentials(await grantOf(client), 'read', never);
      await expect(refused).rejects.toMatchObject({ code: 'protocol_error' });
      return;
    }
    const grant = await grantOf(client);
    const tokens = await servers.clientCredentials(grant, 'read write', never);
    expect(tokens).toMatchObject({ tokenType: 'Bearer', refreshToken: null, scope: 'read write' });
    expect(await authorization.find(tokens.accessToken)).toMatchObject({
      sub: `client:${client.clientId}`,
      resource: resource.url,
    });
    expect(await servers.revoke(grant, { token: tokens.accessToken, kind: 'access_token' }, never)).toBe(
      true,
    );
    expect(await authorization.find(tokens.accessToken)).toBeNull();
  });
});

it.each<[string, OAuthClient, boolean]>([
  ['a wrong secret', knownClient({ clientId: 'client_secret_basic', clientSecret: 'wrong' }), true],
  ['an unknown client', knownClient({ clientId: 'nobody', clientSecret: secret }), true],
  ['the key of another', knownClient({ clientId: 'RS256', privateKey: pem('ES256') }), true],
  [
    'a method without its secret',
    knownClient({ clientId: 'client_secret_basic', authMethod: 'client_secret_basic' }),
    false,
  ],
  ['a key that is none', knownClient({ clientId: 'ES256', privateKey: 'not a key' }), false],
  ['a method without its key', knownClient({ clientId: 'ES256', authMethod: 'private_key_jwt' }), false],
])('a client with %s is refused', async (_what, client, sent) => {
  const refused = servers.clientCredentials(await grantOf(client), 'read', never);
  await expect(refused).rejects.toMatchObject({ code: 'client_rejected', sent });
});
