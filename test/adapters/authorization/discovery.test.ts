import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AuthorizationChallenge } from '#domain/capabilities/connections/authorization-servers.ts';
import {
  failureCode,
  knownClient,
  never,
  redirectUri,
  serversFor,
} from '../../support/authorization/journey.ts';

type Answer = object | number | string | ((request: IncomingMessage, response: ServerResponse) => void);

/** Documents by path; a number is a status, a text an HTML page. */
let answers: Record<string, Answer>;
let asked: string[];
let origin = '';
let stop: () => void;
beforeEach(async () => {
  asked = [];
  const server = createServer((request, response) => {
    asked.push(request.url!);
    const answer = answers[request.url!] ?? 404;
    if (typeof answer === 'function') answer(request, response);
    else if (typeof answer === 'number') response.writeHead(answer).end();
    else if (typeof answer === 'string') response.writeHead(200, { 'content-type': 'text/html' }).end(answer);
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  await new Promise<void>((listening) => void server.listen(0, '127.0.0.1', listening));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  stop = () => server.close().closeAllConnections();
  answers = { [resourcePath]: resourceDocument(), [serverPath]: serverDocument() };
});
afterEach(() => stop());

const resourcePath = '/.well-known/oauth-protected-resource/mcp';
const serverPath = '/.well-known/oauth-authorization-server';
const openIdPath = '/.well-known/openid-configuration';
const resourceDocument = (changes: object = {}) => ({
  resource: `${origin}/mcp`,
  authorization_servers: [origin],
  ...changes,
});
const serverDocument = (changes: object = {}) => ({
  issuer: origin,
  authorization_endpoint: `${origin}/authorize`,
  token_endpoint: `${origin}/token`,
  response_types_supported: ['code'],
  code_challenge_methods_supported: ['S256'],
  ...changes,
});
const challengeWith = (changes: Partial<AuthorizationChallenge>): AuthorizationChallenge => ({
  metadataUrl: null,
  scope: null,
  error: null,
  dpop: false,
  ...changes,
});
const discover = (challenge: AuthorizationChallenge | null = null) =>
  serversFor(origin).discover({ tenantId: 'tenant', url: `${origin}/mcp`, challenge }, never);

describe('a target', () => {
  it('holds no more of the metadata than a connection needs', async () => {
    const many = Array.from({ length: 400 }, (_, index) => `scope-${index}`);
    answers[resourcePath] = resourceDocument({ scopes_supported: ['scope-7'] });
    answers[serverPath] = serverDocument({ scopes_supported: [...many, 'offline_access'] });
    expect((await discover()).metadata['scopes_supported']).toEqual(['scope-7', 'offline_access']);
    answers[serverPath] = serverDocument({
      token_endpoint_auth_methods_supported: many.slice(0, 100).map((each) => each.padEnd(200, 'x')),
    });
    expect(await failureCode(discover())).toBe('protocol_error');
  });
});

describe('the metadata of the resource', () => {
  it('is read at the address of the challenge', async () => {
    answers['/elsewhere'] = resourceDocument({ scopes_supported: ['a', 'b'] });
    const target = await discover(challengeWith({ metadataUrl: `${origin}/elsewhere` }));
    expect(target).toMatchObject({ resource: `${origin}/mcp`, scope: 'a b', issuer: origin });
    expect(asked).toEqual(['/elsewhere', serverPath]);
  });

  it('is read below the path, then below the root', async () => {
    answers[resourcePath] = 404;
    answers['/.well-known/oauth-protected-resource'] = resourceDocument({ resource: origin });
    expect(await discover(challengeWith({ metadataUrl: `${origin}/gone` }))).toMatchObject({
      resource: origin,
    });
    expect(asked.slice(0, 3)).toEqual(['/gone', resourcePath, '/.well-known/oauth-protected-resource']);
  });

  it.each<[string, Answer]>([
    ['missing', 404],
    ['a page', '<!doctype html><p>An application that answers every path.'],
  ])('is %s: the root of the server is its authorization server', async (_what, answer) => {
    answers[resourcePath] = answer;
    expect(await discover()).toMatchObject({ resource: null, issuer: origin, scope: null });
  });

  it('gives the scopes only where the challenge gives none', async () => {
    answers[resourcePath] = resourceDocument({ scopes_supported: ['all', 'of', 'them'] });
    expect((await discover(challengeWith({ scope: 'one' }))).scope).toBe('one');
  });

  it('keeps its spelling', async () => {
    const resource = `${origin.replace('http:', 'HTTP:')}/mcp/`;
    answers[resourcePath] = resourceDocument({ resource });
    answers['/mcp'] = 401;
    const target = await serversFor(origin).discover(
      {
        tenantId: 'tenant',
        url: `${origin}/mcp/`,
        challenge: challengeWith({ metadataUrl: origin + resourcePath }),
      },
      never,
    );
    expect(target.resource).toBe(resource);
  });

  it.each([
    ['another origin', () => 'https://other.example.com/mcp'],
    ['another path', () => `${origin}/other`],
    ['a path that only begins alike', () => `${origin}/mc`],
    ['a longer path', () => `${origin}/mcp/more`],
  ])('is refused when it names %s', async (_what, resource) => {
    answers[resourcePath] = resourceDocument({ resource: resource() });
    expect(await failureCode(discover())).toBe('resource_mismatch');
    expect(asked).not.toContain(serverPath);
  });

  it.each<[string, Answer, string]>([
    ['is no JSON', (_request, response) => response.writeHead(200).end('{'), 'protocol_error'],
    ['has no resource', { authorization_servers: [] }, 'protocol_error'],
    ['fails', 500, 'unreachable'],
    ['is asked too often', 429, 'unreachable'],
    ['breaks off', (_request, response) => response.destroy(), 'unreachable'],
  ])('that %s ends the discovery: no other server takes its place', async (_what, answer, code) => {
    answers[resourcePath] = answer;
    expect(await failureCode(discover())).toBe(code);
    expect(asked).not.toContain(serverPath);
  });
});

describe('the metadata of the authorization server', () => {
  it('is read as OpenID Connect Discovery where there is no other, with its revocation endpoint', async () => {
    answers[serverPath] = '<!doctype html><p>An application that answers every path.';
    answers[openIdPath] = serverDocument({
      jwks_uri: `${origin}/jwks`,
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256'],
      revocation_endpoint: `${origin}/revoke`,
      claims_supported: ['sub'],
    });
    const { metadata } = await discover();
    expect(metadata).toMatchObject({ issuer: origin, revocation_endpoint: `${origin}/revoke` });
    expect(Object.keys(metadata)).not.toContain('claims_supported');
  });

  it('is read at the three addresses of an issuer with a path', async () => {
    answers[resourcePath] = resourceDocument({ authorization_servers: [`${origin}/tenant`] });
    expect(await failureCode(discover())).toBe('not_discovered');
    expect(asked.slice(1)).toEqual([
      `${serverPath}/tenant`,
      `${openIdPath}/tenant`,
      '/tenant/.well-known/openid-configuration',
    ]);
  });

  it.each(['https://other.example.com', 'https://127.0.0.1'])(
    'of the issuer %s is refused',
    async (issuer) => {
      answers[serverPath] = serverDocument({ issuer });
      expect(await failureCode(discover())).toBe('issuer_mismatch');
    },
  );

  it('of the issuer with one more slash is refused', async () => {
    answers[serverPath] = serverDocument({ issuer: `${origin}/` });
    expect(await failureCode(discover())).toBe('issuer_mismatch');
  });

  it.each(['authorization_endpoint', 'token_endpoint', 'registration_endpoint', 'revocation_endpoint'])(
    'is refused when its %s is no web address',
    async (name) => {
      for (const address of ['file:///etc/passwd', 'ftp://example.com/x', 'app:/x']) {
        answers[serverPath] = serverDocument({ [name]: address });
        expect(await failureCode(discover())).toBe('url_not_allowed');
      }
      answers[serverPath] = serverDocument({ [name]: 'javascript:alert(1)' });
      expect(await failureCode(discover())).toBe('protocol_error');
    },
  );

  it('without S256 begins nothing', async () => {
    for (const methods of [undefined, [], ['plain']]) {
      answers[serverPath] = serverDocument({ code_challenge_methods_supported: methods });
      const begun = serversFor(origin).begin({
        target: await discover(),
        client: knownClient({ clientId: 'client' }),
        redirectUri,
        scope: null,
        grantedScope: null,
        state: 'state',
      });
      await expect(begun).rejects.toMatchObject({ code: 'pkce_unsupported', sent: false });
    }
  });

  it('says how clients become known, and which proofs it reads', async () => {
    answers[serverPath] = serverDocument({
      client_id_metadata_document_supported: true,
      registration_endpoint: `${origin}/register`,
      dpop_signing_alg_values_supported: ['RS256', 'EdDSA'],
    });
    expect(await discover(challengeWith({ dpop: true }))).toMatchObject({
      acceptsClientDocuments: true,
      registersClients: true,
      dpopAlg: 'RS256',
    });
    answers[resourcePath] = resourceDocument({
      dpop_bound_access_tokens_required: true,
      dpop_signing_alg_values_supported: ['EdDSA'],
    });
    expect((await discover()).dpopAlg).toBe('EdDSA');
    answers[serverPath] = serverDocument({ dpop_signing_alg_values_supported: ['HS256'] });
    expect(await failureCode(discover())).toBe('protocol_error');
  });
});

describe('an address that may not be reached', () => {
  it.each([
    ['of the challenge', 'metadataUrl'],
    ['of the authorization server', 'issuer'],
  ])('is refused: that %s', async (_what, where) => {
    for (const address of ['https://127.0.0.1:8443/x', 'https://169.254.169.254/x', 'http://example.com/x']) {
      answers[resourcePath] = resourceDocument({ authorization_servers: [address] });
      const challenge = where === 'issuer' ? null : challengeWith({ metadataUrl: address });
      await expect(discover(challenge)).rejects.toMatchObject({ code: 'url_not_allowed' });
    }
  });

  it('is not followed as a redirect', async () => {
    let reached = false;
    const other = createServer((_request, response) => {
      reached = true;
      response.end(JSON.stringify(serverDocument()));
    });
    await new Promise<void>((listening) => void other.listen(0, '127.0.0.1', listening));
    const location = `http://127.0.0.1:${(other.address() as AddressInfo).port}/`;
    answers[serverPath] = (_request, response) => response.writeHead(307, { location }).end();
    expect(await failureCode(discover())).toBe('not_discovered');
    expect(reached).toBe(false);
    other.close();
  });
});

it('scopes that are none are left out', async () => {
  answers[resourcePath] = resourceDocument({
    scopes_supported: ['read', 'read', '', 'two words', 'quo"te', 'back\\slash', 'x'.repeat(300), 'ünï'],
  });
  expect((await discover()).scope).toBe('read');
});
