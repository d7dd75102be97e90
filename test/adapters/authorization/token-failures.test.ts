import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { createAuthorizationServers } from '#adapters/authorization/authorization-servers.ts';
import { createGuardedFetch } from '#adapters/egress/guarded-fetch.ts';
import type {
  AuthorizationServers,
  AuthorizationTarget,
  Grant,
} from '#domain/capabilities/connections/authorization-servers.ts';
import {
  startAuthorizationServer,
  type AuthorizationServer,
} from '../../support/authorization/authorization-server.ts';
import { claimPort } from '../../support/free-port.ts';
import { startHostileAnswers, type HostileAnswers } from '../../support/hostile-answers.ts';
import {
  clientMetadata,
  failureCode,
  knownClient,
  never,
  serversFor,
} from '../../support/authorization/journey.ts';

const canary = 'canary-of-the-server';
let authorization: AuthorizationServer;
let hostile: HostileAnswers;
let servers: AuthorizationServers;
let target: AuthorizationTarget;
let grant: Grant;
beforeAll(async () => {
  authorization = await startAuthorizationServer();
  hostile = await startHostileAnswers();
  servers = serversFor(authorization.issuer, hostile.origin);
  target = await servers.discover(
    { tenantId: 'tenant', url: `${authorization.issuer}/mcp`, challenge: null },
    never,
  );
  grant = { target, client: knownClient({ clientId: 'client' }), dpopKey: null };
});
afterAll(async () => {
  await hostile?.stop();
  await authorization?.stop();
});
afterEach(() => authorization.instead.clear());

/** The endpoint answers so from now on. */
function answers(path: string, status: number, body: unknown, headers: Record<string, string> = {}): void {
  authorization.instead.set(path, (request: IncomingMessage, response: ServerResponse) => {
    request.resume();
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  });
}
const refresh = () => servers.refresh(grant, 'refresh-token', never);
const tokens = { access_token: 'at', token_type: 'Bearer' };

describe('the type of a token', () => {
  it.each([
    ['Bearer', false, 'none'],
    ['bearer', false, 'none'],
    ['DPoP', true, 'none'],
    ['dpop', true, 'none'],
    ['Bearer', true, 'protocol_error'],
    ['DPoP', false, 'protocol_error'],
    ['mac', false, 'protocol_error'],
  ])('%s in answer to a request with a proof (%s): %s', async (type, isBound, outcome) => {
    answers('/token', 200, { access_token: 'at', token_type: type });
    const dpopKey = isBound ? await servers.createDpopKey({ ...target, dpopAlg: 'ES256' }) : null;
    expect(await failureCode(servers.refresh({ ...grant, dpopKey }, 'refresh-token', never))).toBe(outcome);
  });
});

describe('the token endpoint', () => {
  it.each([
    ['invalid_client', 401, 'client_rejected'],
    ['unauthorized_client', 400, 'client_rejected'],
    ['invalid_grant', 400, 'grant_rejected'],
    ['invalid_scope', 400, 'scope_rejected'],
    ['access_denied', 400, 'access_denied'],
    ['invalid_target', 400, 'resource_mismatch'],
    ['temporarily_unavailable', 400, 'unreachable'],
    ['server_error', 500, 'unreachable'],
    ['invalid_grant', 503, 'unreachable'],
    ['invalid_request', 400, 'protocol_error'],
    [canary, 400, 'protocol_error'],
  ])('that answers %s with %i ends in a fixed code', async (error, status, code) => {
    answers('/token', status, { error, error_description: canary });
    const failure = await refresh().catch((thrown: unknown) => thrown as Error);
    expect(failure).toMatchObject({ name: 'AuthorizationFailure', code, sent: true, message: code });
    expect(failure).not.toHaveProperty('cause');
    expect(JSON.stringify(failure, Object.getOwnPropertyNames(failure))).not.toContain(canary);
  });

  it.each([
    [429, { answered: true, retryAfterMs: 120_000 }],
    [503, { answered: true, retryAfterMs: 120_000 }],
    // A gateway does not know what its server has done.
    [504, { answered: false, retryAfterMs: 120_000 }],
  ])('that answers %i says when to ask again', async (status, expected) => {
    answers('/token', status, {}, { 'retry-after': '120' });
    await expect(refresh()).rejects.toMatchObject({ code: 'unreachable', sent: true, ...expected });
  });

  it.each<[string, number, unknown]>([
    ['no JSON', 200, 'no JSON'],
    ['an array', 200, []],
    ['no token', 200, { token_type: 'Bearer' }],
    ['a token of an unknown type', 200, { ...tokens, token_type: 'mac' }],
    ['a token with a line break', 200, { ...tokens, access_token: 'a\r\nSet-Cookie: b' }],
    ['a token of 9,000 characters', 200, { ...tokens, access_token: 'a'.repeat(9_000) }],
    ['a refresh token with a space', 200, { ...tokens, refresh_token: 'a b' }],
    ['a lifetime that is no number', 200, { ...tokens, expires_in: 'soon' }],
    ['a page', 400, '<!doctype html>'],
    ['a redirect', 302, ''],
  ])('that answers %s is refused', async (_what, status, body) => {
    answers('/token', status, body, status === 302 ? { location: 'https://example.com/' } : {});
    await expect(refresh()).rejects.toMatchObject({ code: 'protocol_error', sent: true });
  });

  it.each<[string, object, object]>([
    ['nothing more', {}, { refreshToken: 'refresh-token', expiresAt: null, scope: null }],
    [
      'null for what it has no value for',
      { refresh_token: null, expires_in: null, scope: null },
      { refreshToken: 'refresh-token', expiresAt: null, scope: null },
    ],
    ['another refresh token', { refresh_token: 'next' }, { refreshToken: 'next' }],
    ['scopes', { scope: 'a b a' }, { scope: 'a b' }],
    ['a type in small letters', { token_type: 'bearer' }, { tokenType: 'Bearer' }],
  ])('may answer a refresh with %s', async (_what, more, expected) => {
    answers('/token', 200, { ...tokens, ...more });
    expect(await refresh()).toMatchObject({ accessToken: 'at', ...expected });
  });

  it.each([
    [60, 60],
    ['60', 60],
    [-5, 0],
    [1e12, 315_360_000],
  ])('with a lifetime of %s is taken at its word, within bounds', async (said, seconds) => {
    answers('/token', 200, { ...tokens, expires_in: said });
    const { expiresAt } = await refresh();
    expect(Math.abs(expiresAt!.getTime() - Date.now() - seconds * 1_000)).toBeLessThan(5_000);
  });

  it('with an answer that breaks off may have rotated the token', async () => {
    authorization.instead.set('/token', (request, response) => {
      request.resume();
      response.writeHead(200, { 'content-length': '1000' });
      response.write('{');
      setTimeout(() => response.destroy(), 20);
    });
    await expect(refresh()).rejects.toMatchObject({ code: 'unreachable', sent: true });
  });

  it('that is not there was sent nothing', async () => {
    const origin = `http://127.0.0.1:${await claimPort()}`;
    const gone = { ...target, metadata: { ...target.metadata, token_endpoint: `${origin}/token` } };
    const refused = serversFor(origin).refresh({ ...grant, target: gone }, 'refresh-token', never);
    await expect(refused).rejects.toMatchObject({ code: 'unreachable', sent: false });
  });

  it.each([
    'http://example.com/token',
    'http://localhost:9/token',
    'https://10.0.0.1/token',
    'https://[::1]/token',
  ])('at %s is sent nothing', async (token_endpoint) => {
    const other = { ...target, metadata: { ...target.metadata, token_endpoint } };
    const refused = servers.refresh({ ...grant, target: other }, 'refresh-token', never);
    await expect(refused).rejects.toMatchObject({ code: 'url_not_allowed', sent: false });
  });
});

describe.each(['gzip', 'br', 'endless-line', 'endless-event'])('an answer that never fits: %s', (attack) => {
  it.each(['', '/error'])('ends a request%s', async (how) => {
    const token_endpoint = `${hostile.origin}/${attack}${how}`;
    const other = { ...target, metadata: { ...target.metadata, token_endpoint } };
    expect(await failureCode(servers.refresh({ ...grant, target: other }, 'refresh-token', never))).toBe(
      'unreachable',
    );
  });

  it('ends a discovery', async () => {
    const url = `${hostile.origin}/${attack}`;
    const challenge = { metadataUrl: url, scope: null, error: null, dpop: false };
    expect(await failureCode(servers.discover({ tenantId: 'tenant', url, challenge }, never))).toBe(
      'unreachable',
    );
  });
});

describe.each(['no-headers', 'silent-body', 'byte-by-byte', 'endless-1xx'])(
  'an answer that never ends: %s',
  (stall) => {
    it('ends a request at its limit', async () => {
      const quick = createAuthorizationServers({
        fetch: createGuardedFetch([hostile.origin]),
        limits: { headersMs: 200, idleMs: 200, totalMs: 400 },
      });
      const token_endpoint = `${hostile.origin}/${stall}`;
      const other = { ...target, metadata: { ...target.metadata, token_endpoint } };
      await expect(quick.refresh({ ...grant, target: other }, 'refresh-token', never)).rejects.toMatchObject({
        code: 'unreachable',
        sent: true,
      });
    });
  },
);

it('a caller that gives up ends the request', async () => {
  const token_endpoint = `${hostile.origin}/silent-body`;
  const other = { ...target, metadata: { ...target.metadata, token_endpoint } };
  const failure = servers.refresh({ ...grant, target: other }, 'refresh-token', AbortSignal.timeout(50));
  await expect(failure).rejects.toMatchObject({ code: 'unreachable', sent: true });
});

it('answers are read within the share of the tenant', async () => {
  const read: [string, number][] = [];
  const share = { read: async (bytes: number) => void read.push(['tenant', bytes]) };
  const shared = createAuthorizationServers({
    fetch: createGuardedFetch([authorization.issuer]),
    shares: { of: (tenantId: string) => (tenantId === 'tenant' ? share : null) } as never,
  });
  answers('/token', 200, tokens);
  await shared.refresh(grant, 'refresh-token', never);
  expect(read).toEqual([['tenant', JSON.stringify(tokens).length]]);
});

describe('the registration endpoint', () => {
  const register = () => servers.register(target, clientMetadata, never);

  /** The endpoint registers what it is sent, unless it is refused. @returns what it was sent */
  const registers = (
    more: object,
    isRefused: (sent: Record<string, unknown>) => boolean = () => false,
  ): Record<string, unknown>[] => {
    const sent: Record<string, unknown>[] = [];
    authorization.instead.set('/reg', (request, response) => {
      void json(request).then((body) => {
        const given = body as Record<string, unknown>;
        sent.push(given);
        const refused = isRefused(given);
        response.writeHead(refused ? 400 : 201, { 'content-type': 'application/json' });
        response.end(
          JSON.stringify(
            refused ? { error: 'invalid_client_metadata' } : { ...given, client_id: 'id', ...more },
          ),
        );
      });
    });
    return sent;
  };

  it('registers a confidential client where the server reads secrets', async () => {
    const sent = registers({ client_secret: 'secret', client_secret_expires_at: 2_000_000_000 });
    expect(await register()).toEqual({
      clientId: 'id',
      clientSecret: 'secret',
      privateKey: null,
      authMethod: 'client_secret_post',
      secretExpiresAt: new Date(2_000_000_000_000),
      scope: null,
    });
    expect(sent[0]).toMatchObject({
      client_name: 'Platform',
      application_type: 'native',
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'client_secret_post',
    });
    const redirectUris = ['https://platform.example.com/callback'];
    await servers.register(target, { ...clientMetadata, redirectUris }, never);
    expect(sent[1]).toMatchObject({ application_type: 'web' });
  });

  it('registers the scopes that will be asked for, of which a server may refuse those that it does not list', async () => {
    const wanted = { ...clientMetadata, scope: 'read' };
    const all = registers({});
    expect(await servers.register(target, wanted, never)).toMatchObject({ scope: 'read offline_access' });
    const { scopes_supported: _listed, ...metadata } = target.metadata;
    await servers.register({ ...target, metadata }, wanted, never);
    expect(all.map(({ scope }) => scope)).toEqual(['read offline_access', 'read']);
    const listed = registers({}, ({ scope }) => String(scope).includes('read'));
    expect(await servers.register(target, wanted, never)).toMatchObject({ scope: null });
    expect(listed.map(({ scope }) => scope)).toEqual(['read offline_access', 'offline_access']);
    const none = registers({}, () => true);
    await expect(servers.register(target, wanted, never)).rejects.toMatchObject({ code: 'client_required' });
    expect(none).toHaveLength(2);
    const whole = registers({}, () => true);
    await expect(servers.register(target, { ...wanted, mayLackScopes: false }, never)).rejects.toMatchObject({
      code: 'client_required',
    });
    expect(whole).toHaveLength(1);
  });

  it('says to which scopes a registration limits the client, those that it refused silently included', async () => {
    const limitOf = async (scope: string | null, answered?: string) => {
      registers({ scope: answered });
      return (await servers.register(target, { ...clientMetadata, scope }, never)).scope;
    };
    expect(await limitOf('read')).toBeNull();
    expect(await limitOf(null, '')).toBe('');
    expect(await limitOf(null, 'openid')).toBe('openid');
    expect(await limitOf('read', 'openid')).toBe('read offline_access openid');
  });

  it('may answer null for what it has no value for', async () => {
    registers({ client_secret_expires_at: null, contacts: null, jwks: null });
    expect(await register()).toMatchObject({ clientId: 'id', secretExpiresAt: null });
  });

  it.each([
    [400, 'client_required'],
    [401, 'client_required'],
    [403, 'client_required'],
    [429, 'unreachable'],
    [500, 'unreachable'],
  ])('that refuses with %i ends in %s', async (status, code) => {
    answers('/reg', status, { error: 'invalid_redirect_uri', error_description: canary });
    await expect(register()).rejects.toMatchObject({ code, message: code });
  });

  it('that is missing needs a client that exists', async () => {
    const none = { ...target, registersClients: false };
    await expect(servers.register(none, clientMetadata, never)).rejects.toMatchObject({
      code: 'client_required',
      sent: false,
    });
  });

  it('that answers without a client id is refused', async () => {
    answers('/reg', 201, { client_secret: 'secret' });
    expect(await failureCode(register())).toBe('protocol_error');
  });
});

describe('the revocation endpoint', () => {
  const token = { token: 'token', kind: 'refresh_token' as const };
  const revoke = (more: Grant = grant) => servers.revoke(more, token, never);

  it.each<[number, unknown, boolean | string]>([
    [200, '', true],
    [400, { error: 'unsupported_token_type' }, false],
    [401, { error: 'invalid_client' }, 'client_rejected'],
    [503, '', 'unreachable'],
    [400, 'no JSON', 'protocol_error'],
  ])('that answers %i %s gives %s', async (status, body, expected) => {
    answers('/token/revocation', status, body);
    const outcome = await revoke().catch((error: unknown) => (error as { code: string }).code);
    expect(outcome).toBe(expected);
  });

  it('that is missing revokes nothing', async () => {
    const { revocation_endpoint: _none, ...metadata } = target.metadata;
    expect(await revoke({ ...grant, target: { ...target, metadata } })).toBe(false);
  });
});
