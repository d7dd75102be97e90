import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createGuardedFetch } from '#adapters/egress/guarded-fetch.ts';
import { createToolServers } from '#adapters/tools/mcp-client.ts';
import { schemaHash } from '#domain/capabilities/tools/tool-server.ts';
import type { AuthorizationServers } from '#domain/capabilities/connections/authorization-servers.ts';
import {
  startAuthorizationServer,
  type AuthorizationServer,
} from '../../support/authorization/authorization-server.ts';
import { startProtectedServer, type ProtectedServer } from '../../support/authorization/protected-server.ts';
import { unsharedSession } from '../../support/unshared-session.ts';
import {
  clientMetadata,
  connect,
  discoverFrom,
  failureCode,
  never,
  redirectUri,
  serversFor,
} from '../../support/authorization/journey.ts';

let authorization: AuthorizationServer;
let resource: ProtectedServer;
let servers: AuthorizationServers;
beforeAll(async () => {
  authorization = await startAuthorizationServer();
  resource = await startProtectedServer({ authorization });
  servers = serversFor(authorization.issuer, resource.origin);
});
afterAll(async () => {
  await resource?.stop();
  await authorization?.stop();
});

/** What the tool `whoami` says to the bearer of a token. */
async function whoami(token: string): Promise<string> {
  const tools = createToolServers({
    fetch: createGuardedFetch([resource.origin]),
    credentials: [`TOKEN@${resource.origin}`],
    env: { TOKEN: token },
  });
  const server = {
    tenantId: 'tenant',
    spaceId: 'space',
    url: resource.url,
    credentialRef: 'TOKEN',
    credentialHeader: null,
  };
  const found = (await tools.discover(server, never)).tools.find(({ name }) => name === 'whoami')!;
  const reply = await tools.call(
    server,
    { tool: 'whoami', arguments: {}, schemaHash: schemaHash(found), idempotencyKey: 'key' },
    { signal: never, session: unsharedSession(), confirm: () => Promise.resolve(true) },
  );
  return 'text' in reply ? reply.text : reply.kind;
}

describe('a person who authorizes', () => {
  it('gets tokens that open the server, under the account that was chosen', async () => {
    const target = await discoverFrom(servers, resource.url);
    expect(target).toMatchObject({
      tenantId: 'tenant',
      issuer: authorization.issuer,
      resource: resource.url,
      scope: 'read',
      dpopAlg: null,
      acceptsClientDocuments: false,
      registersClients: true,
    });
    const { tokens } = await connect({ servers, target, ...authorization, decision: { account: 'bob' } });
    expect(tokens).toMatchObject({ tokenType: 'Bearer', scope: 'read' });
    expect(tokens.expiresAt!.getTime() - Date.now()).toBeGreaterThan(590_000);
    expect(await whoami(tokens.accessToken)).toBe('bob');
  });

  it('gets another refresh token with each refresh, and a used one ends them all', async () => {
    const target = await discoverFrom(servers, resource.url);
    const { grant, tokens } = await connect({ servers, target, ...authorization });
    const second = await servers.refresh(grant, tokens.refreshToken!, never);
    expect(second.refreshToken).not.toBe(tokens.refreshToken);
    expect(await whoami(second.accessToken)).toBe('ada');
    await expect(servers.refresh(grant, tokens.refreshToken!, never)).rejects.toMatchObject({
      code: 'grant_rejected',
      sent: true,
    });
    expect(await failureCode(servers.refresh(grant, second.refreshToken!, never))).toBe('grant_rejected');
  });

  it('loses the tokens by a revocation', async () => {
    const target = await discoverFrom(servers, resource.url);
    const { grant, tokens } = await connect({ servers, target, ...authorization });
    expect(await servers.revoke(grant, { token: tokens.refreshToken!, kind: 'refresh_token' }, never)).toBe(
      true,
    );
    expect(await authorization.find(tokens.accessToken)).toBeNull();
    expect(await failureCode(servers.refresh(grant, tokens.refreshToken!, never))).toBe('grant_rejected');
  });

  it('widens the grant when a call needs more, and keeps what was granted', async () => {
    const target = await discoverFrom(servers, resource.url);
    const { grant, tokens } = await connect({ servers, target, ...authorization });
    const wider = await connect({
      servers,
      target,
      ...authorization,
      client: grant.client,
      scope: 'admin',
      grantedScope: tokens.scope!,
    });
    expect(wider.tokens.scope?.split(' ').sort()).toEqual(['admin', 'read']);
  });

  it('sends the code with its verifier: another one is refused', async () => {
    const target = await discoverFrom(servers, resource.url);
    const client = await servers.register(target, clientMetadata, never);
    const request = { target, client, redirectUri, scope: 'read', grantedScope: null, state: 'state' };
    const begun = await servers.begin(request);
    const callback = new URL(await authorization.authorize(begun.url)).searchParams;
    const grant = { target, client, dpopKey: null };
    const code = { code: callback.get('code')!, redirectUri, iss: callback.get('iss') };
    const { codeVerifier } = await servers.begin(request);
    expect(await failureCode(servers.exchange(grant, { ...code, codeVerifier }, never))).toBe(
      'grant_rejected',
    );
  });

  it('says no: the callback carries the error and the issuer', async () => {
    const target = await discoverFrom(servers, resource.url);
    const client = await servers.register(target, clientMetadata, never);
    const begun = await servers.begin({
      target,
      client,
      redirectUri,
      scope: 'read',
      grantedScope: null,
      state: 'the state',
    });
    const callback = new URL(await authorization.authorize(begun.url, { decision: 'deny' })).searchParams;
    expect(Object.fromEntries(callback)).toMatchObject({
      error: 'access_denied',
      state: 'the state',
      iss: authorization.issuer,
    });
  });
});

it('the request has the resource verbatim, S256, the state and a scope for refresh tokens', async () => {
  const target = { ...(await discoverFrom(servers, resource.url)), resource: 'https://api.example.com' };
  const client = await servers.register(target, clientMetadata, never);
  const begun = await servers.begin({
    target,
    client,
    redirectUri,
    scope: 'read',
    grantedScope: null,
    state: 'the state',
  });
  const { searchParams } = new URL(begun.url);
  expect(Object.fromEntries(searchParams)).toMatchObject({
    response_type: 'code',
    client_id: client.clientId,
    redirect_uri: redirectUri,
    code_challenge_method: 'S256',
    state: 'the state',
    scope: 'read offline_access',
    resource: 'https://api.example.com',
  });
  expect(begun.scope).toBe('read offline_access');
  expect(begun.codeVerifier).toMatch(/^[\w.~-]{43,128}$/);
  expect(begun.url).not.toContain(begun.codeVerifier);
});

it('an issuer of a callback is compared as text, and must be there where the server announces it', async () => {
  const target = await discoverFrom(servers, resource.url);
  const check = (iss: string | null) => () => servers.checkIssuer(target, iss);
  expect(check(target.issuer)).not.toThrow();
  for (const iss of [
    `${target.issuer}/`,
    target.issuer.toUpperCase(),
    'https://other.example.com',
    '',
    null,
  ]) {
    expect(check(iss)).toThrow('issuer_mismatch');
  }
  const silent = { ...target, metadata: { ...target.metadata } };
  delete silent.metadata['authorization_response_iss_parameter_supported'];
  expect(() => servers.checkIssuer(silent, null)).not.toThrow();
  expect(() => servers.checkIssuer(silent, 'https://other.example.com')).toThrow('issuer_mismatch');
});
