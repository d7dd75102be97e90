import type { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openGateway, type Answer, type TestGateway } from '../support/gateway.ts';
import { hostileTokens, sameTokenAgain } from '../support/hostile-id-tokens.ts';
import { IdentityProviderServer } from '../support/identity-provider.ts';
import {
  bearer,
  callback,
  cookieOf,
  frontend,
  handleOf,
  publicUrl,
  redeem,
  registerProvider,
  signIn,
  startLogin,
  type RegisteredProvider,
} from '../support/sign-in.ts';
import { connect } from '../support/tables.ts';
import { createWorld, type World } from '../support/world.ts';

let database: TestDatabase;
let gateway: TestGateway;
let admin: Client;
let server: IdentityProviderServer;
let second: IdentityProviderServer;
let world: World;
let provider: RegisteredProvider;
let abroad: RegisteredProvider;

beforeAll(async () => {
  database = await createTestDatabase();
  server = await new IdentityProviderServer().start();
  second = await new IdentityProviderServer().start();
  gateway = await openGateway(database, {
    PUBLIC_URL: publicUrl,
    EGRESS_ALLOW: `${server.issuer},${second.issuer}`,
    MAX_LOGIN_STARTS: '1000000',
  });
  admin = await connect(database.adminUrl);
  world = await createWorld(database.unitOfWork);
  provider = await registerProvider(database, world, server);
  abroad = await registerProvider(database, await createWorld(database.unitOfWork), server);
});
beforeEach(() => {
  server.forge = null;
  server.instead.clear();
});
afterAll(async () => {
  await gateway?.close();
  await server?.stop();
  await second?.stop();
  await admin?.end();
  await database?.drop();
});

const verdict = ({ status, body }: Answer): string => `${status} ${body?.error?.code ?? ''}`.trim();
const countSessions = async (): Promise<number> =>
  (await admin.query<{ n: number }>('select count(*)::int as n from sessions')).rows[0]!.n;
const get = (path: string, headers: Record<string, string> = {}) =>
  gateway.send({ method: 'GET', path, headers });

describe('a hostile ID token', () => {
  it('comes in at least sixty kinds', () => {
    expect(hostileTokens.length).toBeGreaterThanOrEqual(60);
    expect(new Set(hostileTokens.map(({ name }) => name)).size).toBe(hostileTokens.length);
  });

  it.each(hostileTokens)(
    'with $name makes no session, by callback or by ID token',
    async ({ forge, only }) => {
      const before = await countSessions();
      const foreignNonce = (await startLogin(gateway, abroad.slug)).nonce;

      const atSession = await startLogin(gateway, provider.slug);
      const asked = { nonce: atSession.nonce, sub: 'mallory', clientId: provider.clientId };
      const idToken = await forge({ server, asked, foreignNonce });
      const body = { provider_id: provider.slug, id_token: idToken, access_token: server.accessToken };
      expect(verdict(await redeem(gateway, body))).toMatch(
        /^401 (id_token_invalid|login_transaction_required)$/,
      );

      if (only === undefined) {
        server.forge = (asked) => forge({ server, asked, foreignNonce });
        const started = await startLogin(gateway, provider.slug);
        const back = await callback(gateway, server.authorize(started.address, 'mallory'), started.cookie);
        expect(verdict(back)).toBe('401 id_token_invalid');
      }
      expect(await countSessions()).toBe(before);
    },
  );

  it('makes none when it is sent again in another spelling', async () => {
    const started = await startLogin(gateway, provider.slug);
    const asked = { nonce: started.nonce, sub: 'ada', clientId: provider.clientId };
    const idToken = await server.idToken(asked);
    const body = (text: string) => ({ provider_id: provider.slug, id_token: text });
    expect((await redeem(gateway, body(idToken))).status).toBe(200);
    const before = await countSessions();
    const again = await sameTokenAgain({ server, asked, foreignNonce: '' }, idToken);
    expect(Object.keys(again)).toHaveLength(6);
    for (const [name, text] of Object.entries(again)) {
      expect((await redeem(gateway, body(text))).status, name).toBe(401);
    }
    // Even if the sign-in were open again: the claims have been used.
    await admin.query('update login_transactions set consumed_at = null where tenant_id = $1', [
      world.tenantId,
    ]);
    for (const [name, text] of Object.entries(again)) {
      expect(verdict(await redeem(gateway, body(text))), name).toBe('401 id_token_invalid');
    }
    expect(await countSessions()).toBe(before);
  });

  it('counts only for the tenant, provider and client that it was made for', async () => {
    const worlds = [world, await createWorld(database.unitOfWork), await createWorld(database.unitOfWork)];
    const cells: string[] = [];
    for (const [i, home] of worlds.entries()) {
      const here = await registerProvider(database, home, server);
      const there = await registerProvider(database, home, second);
      for (const [issuer, registered] of [
        [server, here],
        [second, there],
        [server, there],
      ] as const) {
        for (const client of [here.clientId, there.clientId]) {
          const { nonce } = await startLogin(gateway, registered.slug);
          const idToken = await issuer.idToken({ nonce, sub: 'ada', clientId: client });
          const answer = await redeem(gateway, { provider_id: registered.slug, id_token: idToken });
          const right = client === registered.clientId && (issuer === server) === (registered === here);
          cells.push(`${i} ${answer.status === 200} ${right}`);
        }
      }
    }
    expect(cells).toHaveLength(18);
    expect(cells.filter((cell) => /true false|false true/.test(cell))).toEqual([]);
    expect(cells.filter((cell) => cell.endsWith('true true'))).toHaveLength(6);
  });

  it.each([
    [
      'a provider that was not asked',
      async (body: object) => ({ ...body, provider_id: abroad.slug }),
      '401 login_transaction_required',
    ],
    [
      'a handle beside it',
      async (body: object) => ({ ...body, handle: `lh.${'x'.repeat(43)}` }),
      '422 invalid_request',
    ],
    ['no provider', async (body: object) => ({ ...body, provider_id: undefined }), '422 invalid_request'],
    [
      'another access token',
      async (body: object) => ({ ...body, access_token: 'stolen' }),
      '401 id_token_invalid',
    ],
  ])('is refused with %s', async (_what, change, expected) => {
    const before = await countSessions();
    const { nonce } = await startLogin(gateway, provider.slug);
    const idToken = await server.idToken({ nonce, sub: 'ada', clientId: provider.clientId });
    const answer = await redeem(gateway, await change({ provider_id: provider.slug, id_token: idToken }));
    expect(verdict(answer)).toBe(expected);
    expect(await countSessions()).toBe(before);
  });

  it('is accepted only for a sign-in that began here', async () => {
    const idToken = await server.idToken({ nonce: 'own', sub: 'ada', clientId: provider.clientId });
    expect(verdict(await redeem(gateway, { provider_id: provider.slug, id_token: idToken }))).toBe(
      '401 login_transaction_required',
    );
  });
});

describe('a mixed-up issuer', () => {
  it.each([
    ['another', (issuer: string) => issuer.replace(/\d+$/, '1')],
    ['one with a slash behind it', (issuer: string) => `${issuer}/`],
    ['one in capitals', (issuer: string) => issuer.toUpperCase()],
    ['its other name', (issuer: string) => issuer.replace('127.0.0.1', 'localhost')],
    ['one over https', (issuer: string) => issuer.replace('http', 'https')],
    ['one with a query', (issuer: string) => `${issuer}?`],
    ['one with a path', (issuer: string) => `${issuer}/realm`],
    ['an empty one', () => ''],
  ])('(%s) ends nothing and shows nothing', async (_what, change) => {
    const before = await countSessions();
    const started = await startLogin(gateway, provider.slug);
    const address = new URL(server.authorize(started.address));
    address.searchParams.set('iss', change(server.issuer));
    const answer = await callback(gateway, address.href, started.cookie);
    expect(verdict(answer)).toBe('401 id_token_invalid');
    expect(answer.text).not.toContain(address.searchParams.get('code'));
    address.searchParams.set('iss', server.issuer);
    expect((await callback(gateway, address.href, started.cookie)).status).toBe(200);
    expect(await countSessions()).toBe(before);
  });

  it('is detected when a provider that normally names itself does not', async () => {
    const started = await startLogin(gateway, provider.slug);
    const address = new URL(server.authorize(started.address));
    address.searchParams.delete('iss');
    expect(verdict(await callback(gateway, address.href, started.cookie))).toBe('401 id_token_invalid');
  });
});

describe('another tenant’s provider', () => {
  let strangers: World;
  beforeAll(async () => {
    strangers = await createWorld(database.unitOfWork);
    second.includesIss = false;
  });
  afterAll(() => {
    second.includesIss = true;
  });

  it.each([
    ['slug', () => provider.slug],
    // As an earlier version stored it.
    ['id as its slug', () => provider.id],
  ])('with the same %s is sent no code of a sign-in of ours', async (_what, slug) => {
    const theirs = await registerProvider(database, strangers, second);
    await admin.query('update identity_providers set slug = $2 where id = $1', [theirs.id, slug()]);
    const before = await countSessions();
    const tokens = second.asked['/token'];
    const ours = await startLogin(gateway, slug(), `?tenant=${world.tenantId}`);
    const begun = await startLogin(gateway, theirs.id);
    expect(begun.address).toContain(second.issuer);
    // Our provider's code, led into their sign-in by a response that names no issuer.
    const mixed = new URL(server.authorize(ours.address));
    mixed.searchParams.delete('iss');
    mixed.searchParams.set('state', begun.state);
    expect(verdict(await callback(gateway, mixed.href, begun.cookie))).toBe('401 login_transaction_required');
    expect(second.asked['/token']).toBe(tokens);
    expect(await countSessions()).toBe(before);
    await admin.query('delete from login_transactions where provider_id = $1', [theirs.id]);
    await admin.query('delete from identity_providers where id = $1', [theirs.id]);
  });

  it('cannot be given an id as its slug, when it is registered or later', async () => {
    const body = {
      slug: provider.id,
      display_name: 'People',
      issuer: second.issuer,
      client_id: 'client',
      redirect_uris: [frontend],
    };
    const path = '/v1/admin/identity-providers';
    const { apiKey } = strangers;
    const added = await gateway.send({ method: 'POST', path, apiKey, body });
    expect(verdict(added)).toBe('422 invalid_request');
    expect(added.body.error).toMatchObject({ param: 'slug' });
    const { id } = await registerProvider(database, strangers, second);
    const changed = { method: 'PATCH', path: `${path}/${id}`, apiKey, body: { slug: provider.id } };
    expect(verdict(await gateway.send(changed))).toMatch(/^422 /);
  });
});

describe('a sign-in in another browser', () => {
  const cases: Record<
    string,
    (mine: { address: string; cookie: string }, theirs: { cookie: string }) => Promise<Answer>
  > = {
    'a callback without the cookie': (mine) => callback(gateway, mine.address, null),
    'a callback with somebody else’s cookie': (mine, theirs) =>
      callback(gateway, mine.address, theirs.cookie),
    'a callback with a made-up cookie': (mine) =>
      callback(gateway, mine.address, `__Host-login=${'x'.repeat(43)}`),
    'a callback with an empty cookie': (mine) => callback(gateway, mine.address, '__Host-login='),
    'a callback with the cookie under another name': (mine) =>
      callback(gateway, mine.address, mine.cookie.replace('__Host-', '')),
    'a callback of another provider’s path': (mine) =>
      callback(gateway, mine.address.replace(provider.id, abroad.id), mine.cookie),
    'a callback at the provider’s slug': (mine) =>
      callback(gateway, mine.address.replace(provider.id, provider.slug), mine.cookie),
    'a callback without its state': (mine) =>
      callback(gateway, mine.address.replace(/&state=[^&]+/, ''), mine.cookie),
    'a callback with another state': (mine) =>
      callback(gateway, mine.address.replace(/state=[^&]+/, 'state=guessed'), mine.cookie),
    'a callback without a code': (mine) =>
      callback(gateway, mine.address.replace(/code=[^&]+/, ''), mine.cookie),
    'a callback with a made-up code': (mine) =>
      callback(gateway, mine.address.replace(/code=[^&]+/, 'code=guessed'), mine.cookie),
    'a handle without the cookie': async (mine) =>
      redeem(gateway, { handle: handleOf(await callback(gateway, mine.address, mine.cookie)) }),
    'a handle with somebody else’s cookie': async (mine, theirs) =>
      redeem(
        gateway,
        { handle: handleOf(await callback(gateway, mine.address, mine.cookie)) },
        { cookie: theirs.cookie },
      ),
    'a handle for another provider': async (mine) =>
      redeem(
        gateway,
        { provider_id: abroad.slug, handle: handleOf(await callback(gateway, mine.address, mine.cookie)) },
        { cookie: mine.cookie },
      ),
  };

  it.each(Object.entries(cases))('(%s) comes to nothing', async (_what, attempt) => {
    const before = await countSessions();
    const started = await startLogin(gateway, provider.slug);
    const theirs = await startLogin(gateway, provider.slug);
    const answer = await attempt(
      { address: server.authorize(started.address), cookie: started.cookie },
      theirs,
    );
    expect(verdict(answer)).toMatch(
      /^401 (login_transaction_required|id_token_invalid|invalid_credentials)$/,
    );
    expect(await countSessions()).toBe(before);
  });
});

describe('a handle', () => {
  const land = async () => {
    const started = await startLogin(gateway, provider.slug);
    const back = await callback(gateway, server.authorize(started.address), started.cookie);
    return { cookie: started.cookie, handle: handleOf(back), state: started.state };
  };

  it('opens one session for any number of concurrent requests', async () => {
    const { cookie, handle } = await land();
    const before = await countSessions();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => redeem(gateway, { handle }, { cookie })),
    );
    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([
      200,
      ...Array.from({ length: 19 }, () => 401),
    ]);
    expect(verdict(await redeem(gateway, { handle }, { cookie }))).toBe('401 invalid_credentials');
    expect(await countSessions()).toBe(before + 1);
  });

  it('is no credential', async () => {
    const { handle } = await land();
    expect(verdict(await get('/v1/sessions', bearer(handle)))).toBe('401 invalid_credentials');
    expect(verdict(await get('/v1/sessions', { 'x-api-key': handle }))).toBe('401 invalid_credentials');
    expect(
      verdict(await gateway.send({ method: 'POST', path: '/v1/refresh', headers: bearer(handle) })),
    ).toBe('401 invalid_credentials');
  });

  it('expires after a minute', async () => {
    const { cookie, handle } = await land();
    const left = await admin.query<{ seconds: number }>(
      'select extract(epoch from handle_expires_at - now())::float8 as seconds from login_transactions where handle_hash is not null order by created_at desc limit 1',
    );
    expect(left.rows[0]!.seconds).toBeGreaterThan(50);
    expect(left.rows[0]!.seconds).toBeLessThanOrEqual(60);
    await admin.query(
      `update login_transactions set handle_expires_at = now() where handle_hash is not null`,
    );
    expect(verdict(await redeem(gateway, { handle }, { cookie }))).toBe('401 invalid_credentials');
  });

  it('comes once from one sign-in: a second callback, or its ID token, opens nothing', async () => {
    const started = await startLogin(gateway, provider.slug);
    const address = server.authorize(started.address);
    expect((await callback(gateway, address, started.cookie)).status).toBe(200);
    expect(verdict(await callback(gateway, address, started.cookie))).toBe('401 login_transaction_required');
    const idToken = await server.idToken({ nonce: started.nonce, sub: 'ada', clientId: provider.clientId });
    expect(verdict(await redeem(gateway, { provider_id: provider.slug, id_token: idToken }))).toBe(
      '401 login_transaction_required',
    );
  });

  it('dies with its sign-in after ten minutes', async () => {
    const started = await startLogin(gateway, provider.slug);
    await admin.query('update login_transactions set expires_at = now() where tenant_id = $1', [
      world.tenantId,
    ]);
    expect(verdict(await callback(gateway, server.authorize(started.address), started.cookie))).toBe(
      '401 login_transaction_required',
    );
    const idToken = await server.idToken({ nonce: started.nonce, sub: 'ada', clientId: provider.clientId });
    expect(verdict(await redeem(gateway, { provider_id: provider.slug, id_token: idToken }))).toBe(
      '401 login_transaction_required',
    );
  });
});

/** Addresses that resemble the listed one. */
function foreignRedirects(): string[] {
  const hosts = [
    'evil.example.com',
    'app.example.com.evil.example',
    'app.example.com@evil.example',
    'evil.example/app.example.com',
    'app%2eexample.com',
    'app.example.com:444',
    'app.example.com:443',
    'APP.example.com',
    'app.example.com.',
    'xn--pp-via.example.com',
    '127.0.0.1',
    '[::1]',
    '2130706433',
    '169.254.169.254',
    'localhost',
    'sub.app.example.com',
  ];
  const schemes = [
    'https://',
    'http://',
    '//',
    'https:',
    'https:///',
    'https:\\\\',
    'javascript://',
    'data:text/html,',
    'ftp://',
    'app://',
    ' https://',
    'HTTPS://',
  ];
  const paths = [
    '/signed-in',
    '/signed-in/',
    '/Signed-In',
    '/signed-in?x=1',
    '/signed-in#x',
    '/signed-in/../signed-in',
    '/signed%2din',
    '/./signed-in',
    '',
    '/*',
    '/signed-in%00',
  ];
  const all = hosts.flatMap((host) =>
    schemes.flatMap((scheme) => paths.map((path) => `${scheme}${host}${path}`)),
  );
  const own = paths.slice(1).flatMap((path) => schemes.map((scheme) => `${scheme}app.example.com${path}`));
  const more = [
    '/signed-in',
    'signed-in',
    '.',
    '?',
    '#',
    '*',
    'https://*',
    'https://app.example.com*',
    'null',
    'about:blank',
    `${frontend} `,
    `${frontend}\t`,
    ` ${frontend}`,
  ];
  return [...new Set([...own, ...more, ...all])].filter((address) => address !== frontend);
}

describe('a redirect address that is not on the list', () => {
  const addresses = foreignRedirects().slice(0, 744);

  it('is refused in 744 spellings by start and by the callback, and none is put on a list', async () => {
    expect(addresses).toHaveLength(744);
    const accepted: string[] = [];
    const started = await startLogin(gateway, provider.slug);
    const back = server.authorize(started.address);
    for (const address of addresses) {
      const query = `frontend_redirect_uri=${encodeURIComponent(address)}`;
      const start = await get(`/v1/auth/oidc/${provider.slug}/start?${query}`);
      const end = await callback(gateway, `${back}&${query}`, started.cookie);
      for (const answer of [start, end]) {
        if (!/^(403 redirect_uri_not_allowed|422 invalid_request)$/.test(verdict(answer))) {
          accepted.push(`${address}: ${verdict(answer)}`);
        }
      }
    }
    expect(accepted).toEqual([]);
    expect((await callback(gateway, back, started.cookie)).status).toBe(200);
  });

  it.each([
    'http://app.example.com/x',
    'https://app.example.com',
    'https://a.example/*',
    'https://u:p@a.example/',
    'https://a.example/#x',
    'javascript:alert(1)',
    '/signed-in',
    'https://A.example/',
  ])('cannot be listed where it is not one exact address: %s', async (address) => {
    const answer = await gateway.send({
      method: 'PATCH',
      path: `/v1/admin/identity-providers/${provider.id}`,
      apiKey: world.apiKey,
      body: { redirect_uris: [address] },
    });
    expect(verdict(answer)).toBe('422 url_not_allowed');
  });
});

describe('a provider that misbehaves', () => {
  it.each([
    ['an endless key set', '/jwks', (size: number) => JSON.stringify({ keys: [{ pad: 'x'.repeat(size) }] })],
    ['a key set that is none', '/jwks', () => 'keys'],
    [
      'an endless token answer',
      '/token',
      (size: number) => JSON.stringify({ access_token: 'x'.repeat(size) }),
    ],
    [
      'another’s metadata',
      '/.well-known/openid-configuration',
      () => JSON.stringify({ issuer: 'https://evil.example.com', jwks_uri: 'https://evil.example.com/jwks' }),
    ],
  ])('by %s makes no session and is no fault of ours', async (_what, path, body) => {
    const fresh = await new IdentityProviderServer().start();
    const open = await openGateway(database, { PUBLIC_URL: publicUrl, EGRESS_ALLOW: fresh.issuer });
    const registered = await registerProvider(database, world, fresh);
    const before = await countSessions();
    fresh.instead.set(path, (response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(body(200_000)),
    );
    const start = await open.send({ method: 'GET', path: `/v1/auth/oidc/${registered.slug}/start` });
    const last =
      start.status === 200
        ? await callback(open, fresh.authorize(start.body.data.redirect_url as string), cookieOf(start))
        : start;
    expect(verdict(last)).toBe('502 identity_provider_unavailable');
    expect(await countSessions()).toBe(before);
    await open.close();
    await fresh.stop();
  });

  it('by two hundred unknown key ids has its keys read again once in half a minute', async () => {
    const fresh = await new IdentityProviderServer().start();
    const open = await openGateway(database, { PUBLIC_URL: publicUrl, EGRESS_ALLOW: fresh.issuer });
    const registered = await registerProvider(database, world, fresh);
    const { nonce } = await startLogin(open, registered.slug);
    const since = performance.now();
    const attempt = async (i: number) => {
      const asked = { nonce, sub: 'x', clientId: registered.clientId };
      const idToken = await fresh.idToken(asked, { header: { kid: `k${i}` } });
      return redeem(open, { provider_id: registered.slug, id_token: idToken });
    };
    for (let i = 0; i < 200; i += 25) {
      await Promise.all(Array.from({ length: 25 }, (_, more) => attempt(i + more)));
    }
    // Once for the first, and once more for each half minute that passed.
    const halfMinutes = Math.floor((performance.now() - since) / 30_000);
    expect(fresh.asked['/jwks']).toBeGreaterThanOrEqual(2);
    expect(fresh.asked['/jwks']).toBeLessThanOrEqual(2 + halfMinutes);
    await open.close();
    await fresh.stop();
  });
});

describe('forged ID tokens', () => {
  const openLimited = () =>
    openGateway(database, { PUBLIC_URL: publicUrl, EGRESS_ALLOW: server.issuer, MAX_FAILED_ATTEMPTS: '3' });
  const redeemFrom = async (open: TestGateway, address: string, idToken: string) => {
    const answer = await open.app.inject({
      method: 'POST',
      url: '/api/v1/auth/oidc/session',
      payload: { provider_id: provider.slug, id_token: idToken },
      remoteAddress: address,
    });
    return { status: answer.statusCode, code: answer.json().error?.code, headers: answer.headers };
  };
  const tokenFor = (nonce: string, header: Record<string, unknown> = {}) =>
    server.idToken({ nonce, sub: 'ada', clientId: provider.clientId }, { header });

  it('for one sign-in are refused beyond the limit, from that address, whatever comes next', async () => {
    const open = await openLimited();
    const { nonce } = await startLogin(open, provider.slug);
    for (let i = 0; i < 3; i += 1) {
      const forged = await tokenFor(nonce, { kid: `made-up-${i}` });
      expect((await redeemFrom(open, '192.0.2.1', forged)).code).toBe('id_token_invalid');
    }
    const before = await countSessions();
    const good = await tokenFor(nonce);
    const refused = await redeemFrom(open, '192.0.2.1', good);
    expect(refused).toMatchObject({ status: 429, code: 'too_many_failed_attempts' });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect(await countSessions()).toBe(before);
    expect((await redeemFrom(open, '192.0.2.2', good)).status).toBe(200);
    await open.close();
  });

  it('that name no sign-in are refused under one shared limit, and delay no valid sign-in from the same address', async () => {
    const open = await openLimited();
    for (const text of ['not-a-token', 'a.b.c', 'x']) {
      expect((await redeemFrom(open, '192.0.2.1', text)).code).toBe('login_transaction_required');
    }
    expect((await redeemFrom(open, '192.0.2.1', 'y')).code).toBe('too_many_failed_attempts');
    for (let i = 0; i < 5; i += 1) {
      const { nonce } = await startLogin(open, provider.slug);
      expect((await redeemFrom(open, '192.0.2.1', await tokenFor(nonce))).status).toBe(200);
    }
    await open.close();
  });
});

describe('two hundred good sign-ins', () => {
  it('all succeed, through a rotation of the provider’s key and among forged tokens', async () => {
    const fresh = await new IdentityProviderServer().start();
    const open = await openGateway(database, { PUBLIC_URL: publicUrl, EGRESS_ALLOW: fresh.issuer });
    const registered = await registerProvider(database, world, fresh);
    const before = await countSessions();
    for (let i = 0; i < 60; i += 1) {
      if (i === 30) {
        await fresh.rotate();
      }
      if (i % 10 === 0) {
        const { nonce } = await startLogin(open, registered.slug);
        const asked = { nonce, sub: 'mallory', clientId: registered.clientId };
        const idToken = await fresh.idToken(asked, { header: { kid: `made-up-${i}` } });
        expect((await redeem(open, { provider_id: registered.slug, id_token: idToken })).status).toBe(401);
      }
      const signedIn = await signIn(open, fresh, registered.slug, `user-${i % 7}`);
      expect(signedIn.access_token).toMatch(/^at\./);
    }
    expect(await countSessions()).toBe(before + 60);
    await open.close();
    await fresh.stop();
  });
});
