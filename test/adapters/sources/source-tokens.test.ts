import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createAuthorizationServers } from '#adapters/authorization/authorization-servers.ts';
import { createGuardedFetch } from '#adapters/egress/guarded-fetch.ts';
import { createSourceCatalogue } from '#adapters/sources/create-source-catalogue.ts';
import { sourceDialects } from '#adapters/sources/dialects.ts';
import type { AuthorizationTarget, Grant } from '#domain/capabilities/connections/authorization-servers.ts';
import { failureCode, knownClient, never } from '../../support/authorization/journey.ts';

interface Asked {
  method: string;
  path: string;
  authorization: string | undefined;
  body: string;
}

const asked: Asked[] = [];
/** What the vendor answers next. */
let answer: { status: number; body: object | null } = { status: 200, body: {} };
let origin = '';
const vendor = createServer((request, response) => {
  void (async () => {
    const { method = '', url = '', headers } = request;
    asked.push({ method, path: url, authorization: headers.authorization, body: await text(request) });
    response.writeHead(answer.status, { 'content-type': 'application/json; charset=utf-8' });
    response.end(answer.body === null ? '' : JSON.stringify(answer.body));
  })();
});

beforeAll(async () => {
  vendor.listen(0, '127.0.0.1');
  await once(vendor, 'listening');
  origin = `http://127.0.0.1:${(vendor.address() as AddressInfo).port}`;
});
afterAll(() => vendor.close());
beforeEach(() => asked.splice(0));

const catalogue = createSourceCatalogue();
const servers = () =>
  createAuthorizationServers({ fetch: createGuardedFetch([origin]), dialects: sourceDialects() });
const client = knownClient({ clientId: 'app.1', clientSecret: 'app-secret' });
const targetAt = (slug: string, scopeConfig: object): AuthorizationTarget =>
  catalogue.authorization(slug, catalogue.parseScope(slug, scopeConfig), 'tenant')!;
const slack = () => targetAt('slack', { api_url: `${origin}/api`, channels: ['C024BE91L'] });
const github = () => targetAt('github', { api_url: `${origin}/api/v3`, repositories: ['a/b'] });
const grantAt = (target: AuthorizationTarget): Grant => ({ target, client, dpopKey: null });
const code = {
  code: 'code',
  codeVerifier: 'v'.repeat(43),
  redirectUri: 'https://p.example.com/cb',
  iss: null,
};
const formOf = ({ body }: Asked) => Object.fromEntries(new URLSearchParams(body));

async function exchange(target: AuthorizationTarget, status: number, body: object) {
  answer = { status, body };
  return servers().exchange(grantAt(target), code, never);
}
async function begun(target: AuthorizationTarget): Promise<URL> {
  const request = { target, client, redirectUri: code.redirectUri, state: 's' };
  const { url } = await servers().begin({ ...request, scope: target.scope, grantedScope: null });
  return new URL(url);
}

describe('Slack', () => {
  it('is asked for scopes with commas and without a proof key, which an app with a secret has not', async () => {
    const url = await begun(slack());
    expect(url.origin + url.pathname).toBe(`${origin}/oauth/v2/authorize`);
    expect(url.searchParams.get('scope')).toBe(
      'channels:read,channels:history,users:read,groups:read,groups:history',
    );
    expect(url.searchParams.has('code_challenge')).toBe(false);
  });

  it('answers the token of an app as one of type bot, with a lifetime only where tokens rotate', async () => {
    const of = { id: 'U1', scope: 'chat:write', access_token: 'xoxp-person', token_type: 'user' };
    const issued = await exchange(slack(), 200, {
      ok: true,
      access_token: 'xoxe.xoxb-1-app',
      token_type: 'bot',
      scope: 'channels:read,users:read',
      bot_user_id: 'B1',
      app_id: 'A1',
      expires_in: 43_200,
      refresh_token: 'xoxe-1-app',
      team: { name: 'Team', id: 'T1' },
      enterprise: null,
      authed_user: of,
    });
    expect(issued).toMatchObject({
      accessToken: 'xoxe.xoxb-1-app',
      tokenType: 'Bearer',
      refreshToken: 'xoxe-1-app',
      scope: 'channels:read users:read',
    });
    expect(issued.expiresAt!.getTime() - Date.now()).toBeGreaterThan(43_000_000);
    expect(asked[0]).toMatchObject({ method: 'POST', path: '/api/oauth.v2.access' });
    expect(formOf(asked[0]!)).toEqual({
      grant_type: 'authorization_code',
      code: 'code',
      redirect_uri: code.redirectUri,
      client_id: 'app.1',
      client_secret: 'app-secret',
    });
    const plain = await exchange(slack(), 200, {
      ok: true,
      access_token: 'xoxb-2',
      token_type: 'bot',
      scope: '',
    });
    expect(plain).toMatchObject({ accessToken: 'xoxb-2', refreshToken: null, expiresAt: null });
  });

  it('answers the token of a person under authed_user, where the app asked for no other', async () => {
    const person = { id: 'U1', scope: 'channels:read', access_token: 'xoxp-1', token_type: 'user' };
    const issued = await exchange(slack(), 200, { ok: true, authed_user: person, team: { id: 'T1' } });
    expect(issued).toMatchObject({ accessToken: 'xoxp-1', scope: 'channels:read', refreshToken: null });
  });

  it('answers refusals with status 200', async () => {
    const refused = (error: string) => failureCode(exchange(slack(), 200, { ok: false, error }));
    expect(await refused('invalid_code')).toBe('grant_rejected');
    expect(await refused('bad_client_secret')).toBe('client_rejected');
    expect(await refused('invalid_client_id')).toBe('client_rejected');
    expect(await refused('something_new')).toBe('protocol_error');
    answer = { status: 200, body: { ok: false, error: 'invalid_refresh_token' } };
    expect(await failureCode(servers().refresh(grantAt(slack()), 'xoxe-1', never))).toBe('grant_rejected');
    answer = { status: 200, body: { ok: false, error: 'ratelimited' } };
    expect(await failureCode(servers().refresh(grantAt(slack()), 'xoxe-1', never))).toBe('unreachable');
  });

  it('revokes the token that is sent as the credential, and knows an ended one as revoked', async () => {
    answer = { status: 200, body: { ok: true, revoked: true } };
    const revoke = (kind: 'access_token' | 'refresh_token') =>
      servers().revoke(grantAt(slack()), { token: 'xoxb-1', kind }, never);
    expect(await revoke('access_token')).toBe(true);
    expect(asked).toMatchObject([
      { method: 'POST', path: '/api/auth.revoke', authorization: 'Bearer xoxb-1', body: '' },
    ]);
    expect(await revoke('refresh_token')).toBe(false);
    answer = { status: 200, body: { ok: false, error: 'token_revoked' } };
    expect(await revoke('access_token')).toBe(true);
    answer = { status: 200, body: { ok: false, error: 'fatal_error' } };
    expect(await failureCode(revoke('access_token'))).toBe('protocol_error');
  });
});

describe('GitHub', () => {
  it('has the endpoints of the vendor, or those of a server of one’s own', async () => {
    const own = targetAt('github', { repositories: ['a/b'] });
    expect(own.metadata).toMatchObject({
      authorization_endpoint: 'https://github.com/login/oauth/authorize',
      token_endpoint: 'https://github.com/login/oauth/access_token',
    });
    expect(github()).toMatchObject({
      issuer: `${origin}/login/oauth`,
      source: { provider: 'github', origin },
      metadata: { token_endpoint: `${origin}/login/oauth/access_token` },
    });
    expect((await begun(github())).searchParams.get('code_challenge_method')).toBe('S256');
  });

  it('answers tokens of apps with and without a lifetime, and scopes with commas', async () => {
    const app = await exchange(github(), 200, {
      access_token: 'ghu_1',
      expires_in: 28_800,
      refresh_token: 'ghr_1',
      refresh_token_expires_in: 15_897_600,
      scope: '',
      token_type: 'bearer',
    });
    expect(app).toMatchObject({
      accessToken: 'ghu_1',
      refreshToken: 'ghr_1',
      tokenType: 'Bearer',
      scope: null,
    });
    const oauth = { access_token: 'gho_1', scope: 'repo,gist', token_type: 'bearer' };
    expect(await exchange(github(), 200, oauth)).toMatchObject({
      accessToken: 'gho_1',
      refreshToken: null,
      expiresAt: null,
      scope: 'repo gist',
    });
    expect(formOf(asked[0]!)).toMatchObject({
      code_verifier: code.codeVerifier,
      client_secret: 'app-secret',
    });
  });

  it('answers refusals with status 200', async () => {
    const refused = (error: string) =>
      failureCode(
        exchange(github(), 200, { error, error_description: 'What it says.', error_uri: 'https://docs' }),
      );
    expect(await refused('bad_verification_code')).toBe('grant_rejected');
    expect(await refused('incorrect_client_credentials')).toBe('client_rejected');
    answer = { status: 200, body: { error: 'bad_refresh_token' } };
    expect(await failureCode(servers().refresh(grantAt(github()), 'ghr_1', never))).toBe('grant_rejected');
  });

  it('revokes an access token by its interface, as the client', async () => {
    answer = { status: 204, body: null };
    const revoke = (kind: 'access_token' | 'refresh_token') =>
      servers().revoke(grantAt(github()), { token: 'gho_1', kind }, never);
    expect(await revoke('access_token')).toBe(true);
    expect(asked).toEqual([
      {
        method: 'DELETE',
        path: '/api/v3/applications/app.1/token',
        authorization: `Basic ${btoa('app.1:app-secret')}`,
        body: '{"access_token":"gho_1"}',
      },
    ]);
    expect(await revoke('refresh_token')).toBe(false);
    answer = { status: 404, body: { message: 'Not Found' } };
    expect(await revoke('access_token')).toBe(true);
    answer = { status: 503, body: null };
    expect(await failureCode(revoke('access_token'))).toBe('unreachable');
  });
});

describe('Confluence', () => {
  it('is connected at the address with the cloud id only, for the vendor’s audience', async () => {
    const site = { base_url: 'https://example.atlassian.net/wiki' };
    expect(catalogue.authorization('confluence', catalogue.parseScope('confluence', site), 't')).toBeNull();
    const target = targetAt('confluence', { base_url: 'https://api.atlassian.com/ex/confluence/1/wiki' });
    const { searchParams: query } = await begun(target);
    expect(Object.fromEntries(query)).toMatchObject({ audience: 'api.atlassian.com', prompt: 'consent' });
    expect(query.get('scope')).toContain('offline_access');
    expect(query.getAll('prompt')).toEqual(['consent']);
  });

  it('is connected in the same way for Jira', async () => {
    const parse = (base: string) => catalogue.parseScope('jira', { base_url: base, projects: ['APP'] });
    expect(catalogue.authorization('jira', parse('https://example.atlassian.net'), 't')).toBeNull();
    const target = targetAt('jira', {
      base_url: 'https://api.atlassian.com/ex/jira/1',
      projects: ['APP'],
    });
    const { searchParams: query } = await begun(target);
    expect(query.get('audience')).toBe('api.atlassian.com');
    expect(query.get('scope')).toBe('read:jira-work read:jira-user offline_access');
  });

  it('may leave out the type of a token', async () => {
    const target = targetAt('confluence', { base_url: `${origin}/ex/confluence/1/wiki`, readers: false });
    const body = {
      access_token: 'at',
      refresh_token: 'rt',
      expires_in: 3_600,
      scope: 'read:page:confluence',
    };
    expect(await exchange(target, 200, body)).toMatchObject({ accessToken: 'at', refreshToken: 'rt' });
    answer = { status: 403, body: { error: 'invalid_grant', error_description: 'Unknown refresh token.' } };
    expect(await failureCode(servers().refresh(grantAt(target), 'rt', never))).toBe('grant_rejected');
  });
});

it('an answer that is no JSON object is no token, whatever the dialect', async () => {
  for (const target of [slack(), github()]) {
    answer = { status: 200, body: ['access_token'] };
    expect(await failureCode(servers().exchange(grantAt(target), code, never))).toBe('protocol_error');
  }
});
