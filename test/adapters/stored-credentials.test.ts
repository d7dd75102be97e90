import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { jwtVerify } from 'jose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createStoredCredentials } from '#adapters/credentials/stored-credentials.ts';
import { createGuardedFetch } from '#adapters/egress/guarded-fetch.ts';
import type { CredentialValue, OAuthClientValue } from '#domain/capabilities/credentials/credential-value.ts';

interface Asked {
  path: string;
  authorization: string | undefined;
  form: Record<string, string>;
}

/** A token endpoint; `answer` says what it answers from now on. */
async function startEndpoint() {
  const asked: Asked[] = [];
  const endpoint = {
    asked,
    url: '',
    answer: (n: number): unknown => ({ access_token: `at-${n}-secret`, token_type: 'Bearer' }),
    status: 200,
    stop: async () => {},
  };
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      asked.push({
        path: request.url ?? '',
        authorization: request.headers.authorization,
        form: Object.fromEntries(new URLSearchParams(body)),
      });
      response.writeHead(endpoint.status, { 'content-type': 'application/json' });
      const said = endpoint.answer(asked.length);
      response.end(typeof said === 'string' ? said : JSON.stringify(said));
    });
  });
  await new Promise<void>((listening) => void server.listen(0, '127.0.0.1', listening));
  endpoint.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  endpoint.stop = async () => server.close().closeAllConnections();
  return endpoint;
}

let endpoint: Awaited<ReturnType<typeof startEndpoint>>;
let now = 0;
beforeEach(async () => {
  endpoint = await startEndpoint();
  now = 1_000_000;
});
afterEach(() => endpoint.stop());

const use = {
  tenantId: 'tenant',
  spaceId: 'space',
  principalId: 'ada',
  credentialId: 'credential',
  url: 'https://crm.example.com/mcp',
};
const client = (): CredentialValue => ({
  kind: 'oauth2_client',
  client_id: 'us:them',
  client_secret: 'cs secret+1',
  token_url: `${endpoint.url}/token`,
  scope: 'read write',
});

/** A source whose credential is `opened`, for which the test may put another. */
function sourceOf(value: CredentialValue, allowed = [endpoint.url]) {
  const opened = { version: 1, value };
  const source = createStoredCredentials({
    open: async () => opened,
    fetch: createGuardedFetch(allowed),
    now: () => now,
  });
  return { source, opened };
}

const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const privateKey = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;

/** Answers with the metadata of an issuer, which names the token address and what it reads. */
function asIssuer(more: object = {}) {
  const token = endpoint.answer;
  endpoint.answer = (n) =>
    endpoint.asked.at(-1)?.path.startsWith('/.well-known/') === true
      ? {
          issuer: endpoint.url,
          authorization_endpoint: `${endpoint.url}/authorize`,
          token_endpoint: `${endpoint.url}/issue`,
          response_types_supported: ['code'],
          ...more,
        }
      : token(n);
}

describe('a value', () => {
  const basic = `Basic ${Buffer.from('ada:pw-secret-ü').toString('base64')}`;
  it.each<[CredentialValue, string, string, string | null]>([
    [{ kind: 'bearer', token: 'tk' }, 'Authorization', 'Bearer tk', 'tk'],
    [{ kind: 'header', name: 'X-Api-Key', value: 'a b' }, 'X-Api-Key', 'a b', null],
    [{ kind: 'basic', username: 'ada', password: 'pw-secret-ü' }, 'Authorization', basic, null],
  ])('%j is sent in its header', async (value, name, sent, token) => {
    const { header, token: bare } = await sourceOf(value).source.read(use);
    expect([header, bare]).toEqual([{ name, value: sent }, token]);
  });

  it('that signs requests is no header', async () => {
    const value = { kind: 'access_key', access_key_id: 'a', secret_access_key: 's' } as const;
    await expect(sourceOf(value).source.read(use)).rejects.toMatchObject({ code: 'missing' });
  });
});

describe('a client of OAuth', () => {
  it('asks for a token by the grant of client credentials, once for uses that come at once', async () => {
    const { source } = sourceOf(client());
    const read = await Promise.all([1, 2, 3].map(() => source.read(use)));
    expect(read.map(({ header }) => header.value)).toEqual(Array(3).fill('Bearer at-1-secret'));
    expect(read[0]!.secrets).toEqual(['at-1-secret', 'cs secret+1']);
    expect(endpoint.asked).toEqual([
      {
        path: '/token',
        authorization: `Basic ${Buffer.from('us%3Athem:cs+secret%2B1').toString('base64')}`,
        form: { grant_type: 'client_credentials', scope: 'read write' },
      },
    ]);
  });

  it('uses its token until shortly before it runs out', async () => {
    endpoint.answer = (n) => ({ access_token: `at-${n}`, token_type: 'bearer', expires_in: 600 });
    const { source } = sourceOf(client());
    const tokens: (string | null)[] = [];
    for (const afterSeconds of [0, 539, 541, 541 + 539]) {
      now = 1_000_000 + afterSeconds * 1_000;
      tokens.push((await source.read(use)).token);
    }
    expect(tokens).toEqual(['at-1', 'at-1', 'at-2', 'at-2']);
  });

  it('has a token for each tenant, space, person and credential, which no other one is given', async () => {
    const { source } = sourceOf(client());
    const others = [
      {},
      { tenantId: 'other' },
      { spaceId: 'other' },
      { principalId: 'grace' },
      { credentialId: 'other' },
    ].map((other) => ({ ...use, ...other }));
    const tokens = [];
    for (const each of [...others, ...others]) tokens.push((await source.read(each)).token);
    const five = [1, 2, 3, 4, 5].map((n) => `at-${n}-secret`);
    expect(tokens).toEqual([...five, ...five]);
  });

  it('asks again once it was rotated, and once its token was refused', async () => {
    const { source, opened } = sourceOf(client());
    await source.read(use);
    opened.version = 2;
    expect((await source.read(use)).token).toBe('at-2-secret');
    source.refused(use);
    expect((await source.read(use)).token).toBe('at-3-secret');
    expect((await source.read(use)).token).toBe('at-3-secret');
  });

  it.each<[string, number, unknown, string]>([
    ['is refused', 401, { error: 'invalid_client' }, 'refused'],
    ['is answered with no JSON', 200, 'cs secret+1', 'refused'],
    ['is answered with another kind of token', 200, { access_token: 'a', token_type: 'mac' }, 'refused'],
    [
      'is answered with a token that is no header',
      200,
      { access_token: 'a\r\nb', token_type: 'bearer' },
      'refused',
    ],
    ['is led elsewhere', 302, {}, 'refused'],
    ['meets a server that is down', 503, {}, 'unreachable'],
    ['is answered with too much', 200, 'x'.repeat(70_000), 'unreachable'],
  ])('that %s fails with a code alone, and is not remembered', async (_name, status, said, code) => {
    const { source } = sourceOf(client());
    Object.assign(endpoint, { status, answer: () => said });
    const failure = await source.read(use).catch((error: unknown) => error as Error);
    expect(failure).toMatchObject({ name: 'CredentialFailure', code, message: code });
    expect(failure).not.toHaveProperty('cause');
    Object.assign(endpoint, { status: 200, answer: () => ({ access_token: 'late', token_type: 'bearer' }) });
    expect((await source.read(use)).token).toBe('late');
  });

  it('is looked up by its issuer, and signs an assertion for it with its key', async () => {
    asIssuer({ token_endpoint_auth_methods_supported: ['private_key_jwt'] });
    const { source } = sourceOf({
      kind: 'oauth2_client',
      client_id: 'us',
      private_key: privateKey,
      issuer: endpoint.url,
    });
    const read = await source.read(use);
    expect(read).toMatchObject({ token: 'at-2-secret', secrets: ['at-2-secret'] });
    const { path, authorization, form } = endpoint.asked.at(-1)!;
    expect([path, authorization, form['grant_type']]).toEqual(['/issue', undefined, 'client_credentials']);
    const options = { issuer: 'us', subject: 'us', audience: endpoint.url };
    const { protectedHeader } = await jwtVerify(form['client_assertion']!, pair.publicKey, options);
    expect(protectedHeader.alg).toBe('ES256');
  });

  it('signs for the token address where its issuer is not known', async () => {
    const { source } = sourceOf({
      kind: 'oauth2_client',
      client_id: 'us',
      private_key: privateKey,
      token_url: `${endpoint.url}/token`,
    });
    await source.read(use);
    const assertion = endpoint.asked.at(-1)!.form['client_assertion']!;
    await jwtVerify(assertion, pair.publicKey, { audience: `${endpoint.url}/token` });
  });

  it('sends its secret as the metadata of the issuer asks', async () => {
    asIssuer({ token_endpoint_auth_methods_supported: ['client_secret_post'] });
    const { token_url: _token, ...value } = client() as OAuthClientValue;
    await sourceOf({ ...value, issuer: endpoint.url }).source.read(use);
    expect(endpoint.asked.at(-1)).toMatchObject({
      authorization: undefined,
      form: { client_id: 'us:them', client_secret: 'cs secret+1' },
    });
  });

  it('sends nothing where the metadata is that of another issuer', async () => {
    asIssuer({ issuer: 'https://login.example.com' });
    const { token_url: _token, ...value } = client() as OAuthClientValue;
    const { source } = sourceOf({ ...value, issuer: endpoint.url });
    await expect(source.read(use)).rejects.toMatchObject({ code: 'refused' });
    expect(endpoint.asked.map(({ path }) => path)).not.toContain('/issue');
  });

  it('reaches no address that the guard refuses', async () => {
    await expect(sourceOf(client(), []).source.read(use)).rejects.toMatchObject({ code: 'unreachable' });
    expect(endpoint.asked).toEqual([]);
  });
});
