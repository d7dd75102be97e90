import { randomUUID } from 'node:crypto';
import type { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TestDatabase } from '../support/database.ts';
import type { Answer, TestGateway } from '../support/gateway.ts';
import type { IdentityProviderServer } from '../support/identity-provider.ts';
import {
  bearer,
  callback,
  frontend,
  handleOf,
  publicUrl,
  redeem,
  refresh,
  registerProvider,
  signIn,
  startLogin,
  type RegisteredProvider,
} from '../support/sign-in.ts';
import { openSignInPlace, type SignInPlace } from '../support/sign-in-place.ts';
import { untilBlocked } from '../support/tables.ts';
import { addMember, createWorld, type World } from '../support/world.ts';

let place: SignInPlace;
let database: TestDatabase;
let gateway: TestGateway;
let admin: Client;
let server: IdentityProviderServer;
let world: World;
let provider: RegisteredProvider;

beforeAll(async () => {
  place = await openSignInPlace();
  ({ database, gateway, server, admin } = place);
});
beforeEach(async () => {
  server.forge = null;
  world = await createWorld(database.unitOfWork);
  provider = await registerProvider(database, world, server);
});
afterAll(async () => {
  await place?.close();
});

const verdict = ({ status, body }: Answer): string => `${status} ${body?.error?.code ?? ''}`.trim();
const countSessions = async (): Promise<number> =>
  (
    await admin.query<{ n: number }>('select count(*)::int as n from sessions where tenant_id = $1', [
      world.tenantId,
    ])
  ).rows[0]!.n;
const eventsOf = async (type: string) =>
  (
    await admin.query<{ metadata: Record<string, unknown>; actor_id: string | null; resource_id: string }>(
      'select metadata, actor_id, resource_id from events where tenant_id = $1 and event_type = $2 order by id',
      [world.tenantId, type],
    )
  ).rows;
const call = (path: string, headers: Record<string, string>, method = 'GET') =>
  gateway.send({ method, path, headers });

describe('a sign-in', () => {
  it('goes from start over the provider and the callback to a session whose token opens the API', async () => {
    const started = await startLogin(gateway, provider.slug);
    const asked = new URL(started.address).searchParams;
    expect(asked.get('redirect_uri')).toBe(`${publicUrl}/api/v1/auth/oidc/${provider.id}/callback`);
    expect([asked.get('code_challenge_method'), asked.get('response_type')]).toEqual(['S256', 'code']);

    const back = await callback(gateway, server.authorize(started.address), started.cookie);
    expect(back.status, back.text).toBe(200);
    expect(back.headers).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
    expect(back.body.redirect_url).toMatch(
      /^https:\/\/app\.example\.com\/signed-in\?session_id=lh\.[\w-]{43}$/,
    );
    expect(await countSessions()).toBe(0);

    const opened = await redeem(gateway, { handle: handleOf(back) }, { cookie: started.cookie });
    expect(opened.status, opened.text).toBe(200);
    expect(opened.body).toMatchObject({ token_type: 'bearer', expires_in: 600, refresh_expires_in: 604_800 });
    const days = (Date.parse(opened.body.expires_at as string) - Date.now()) / 86_400_000;
    expect(days).toBeGreaterThan(29.99);
    expect(days).toBeLessThan(30.01);

    const own = await call('/v1/sessions', bearer(opened.body.access_token as string));
    expect(own.body.data).toMatchObject([
      {
        session_id: opened.body.session_id,
        current: true,
        status: 'active',
        identity_provider_id: provider.id,
      },
    ]);
    expect(await eventsOf('security.login_succeeded')).toMatchObject([
      { resource_id: opened.body.session_id, actor_id: own.body.data[0].principal_id },
    ]);
  });

  it('reports whether its user has signed in from this browser before', async () => {
    const from = async (device: string | null, sub = 'ada') => {
      const started = await startLogin(gateway, provider.slug);
      const back = await callback(gateway, server.authorize(started.address, sub), started.cookie);
      const cookie = [started.cookie, ...(device === null ? [] : [device])].join('; ');
      const opened = await redeem(gateway, { handle: handleOf(back) }, { cookie });
      const set = String(opened.headers['set-cookie']);
      expect(set).toMatch(
        /^__Host-device=[\w-]{43}; Max-Age=34560000; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
      );
      return set.split(';')[0]!;
    };
    const device = await from(null);
    expect(await from(device)).toBe(device);
    await from(null);
    await from(device, 'grace');
    expect(
      (await eventsOf('security.login_succeeded')).map(({ metadata }) => metadata['new_device']),
    ).toEqual([true, false, true, true]);
    const { rows } = await admin.query('select device_hash from sessions where tenant_id = $1', [
      world.tenantId,
    ]);
    expect(JSON.stringify(rows)).not.toContain(device.split('=')[1]);
  });

  it('sets a cookie that only this host can set and no script can read', async () => {
    const answer = await gateway.send({ method: 'GET', path: `/v1/auth/oidc/${provider.slug}/start` });
    expect(String(answer.headers['set-cookie'])).toMatch(
      /^__Host-login=[\w-]{43}; Max-Age=600; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    );
  });

  it('redirects a browser instead of answering with an address', async () => {
    const page = { accept: 'text/html,*/*;q=0.8' };
    const start = await call(`/v1/auth/oidc/${provider.slug}/start`, page);
    expect([start.status, start.text]).toEqual([303, '']);
    expect(start.headers.location).toContain(`${server.issuer}/authorize?`);
    const cookie = String(start.headers['set-cookie']).split(';')[0]!;
    const { pathname, search } = new URL(server.authorize(start.headers.location!));
    const back = await call(pathname.replace('/api', '') + search, { ...page, cookie });
    expect([back.status, back.text]).toEqual([303, '']);
    expect(back.headers.location).toContain(`${frontend}?session_id=lh.`);
  });

  it('makes a new subject a user with the role member, once, and finds the user again by subject only', async () => {
    const first = await signIn(gateway, server, provider.slug, 'grace');
    const second = await signIn(gateway, server, provider.slug, 'grace');
    const other = await signIn(gateway, server, provider.slug, 'joan');
    const principals = await admin.query(
      `select s.id, p.name, p.email, p.type, a.role_key from sessions s join principals p on p.id = s.principal_id
       join role_assignments a on a.principal_id = p.id where s.tenant_id = $1`,
      [world.tenantId],
    );
    const of = (session: string) => principals.rows.find(({ id }) => id === session);
    expect(of(first.session_id)).toMatchObject({
      name: 'User grace',
      email: 'grace@example.com',
      type: 'user',
      role_key: 'member',
    });
    expect(of(second.session_id)).toMatchObject({ name: 'User grace' });
    expect(of(other.session_id)).toMatchObject({ name: 'User joan' });
    expect(await eventsOf('security.principal_created')).toHaveLength(2);
  });

  it('shows a new user earlier invites, which can be accepted', async () => {
    const path = `/v1/spaces/${world.spaceId}/invites`;
    for (const email of ['ida@example.com', 'mallory@example.com']) {
      await gateway.send({ method: 'POST', path, apiKey: world.apiKey, body: { email } });
    }
    const ida = bearer((await signIn(gateway, server, provider.slug, 'ida')).access_token);
    const [found, ...more] = (await call('/v1/invites', ida)).body.data;
    expect(more).toEqual([]);
    const accept = `/v1/spaces/${found.space_id}/invites/${found.id}/accept`;
    expect((await call(accept, ida, 'POST')).body.data).toMatchObject({ status: 'accepted' });
    expect((await call('/v1/invites', ida)).body.data).toEqual([]);
    expect((await call(`/v1/spaces/${world.spaceId}`, ida)).status).toBe(200);
    // An unverified address counts as none.
    server.forge = (asked) => server.idToken(asked, { claims: { email_verified: false } });
    const mallory = bearer((await signIn(gateway, server, provider.slug, 'mallory')).access_token);
    expect((await call('/v1/invites', mallory)).body.data).toEqual([]);
  });

  it('keeps no address that the provider has not verified', async () => {
    server.forge = (asked) => server.idToken(asked, { claims: { email_verified: false } });
    await signIn(gateway, server, provider.slug, 'mallory');
    const { rows } = await admin.query(
      `select email from principals where tenant_id = $1 and name = 'User mallory'`,
      [world.tenantId],
    );
    expect(rows).toEqual([{ email: null }]);
  });

  it('lets only linked identities in where the provider says so', async () => {
    const strict = await registerProvider(database, world, server, { provisioning: 'known' });
    const refused = await startLogin(gateway, strict.slug);
    const back = await callback(gateway, server.authorize(refused.address, 'lise'), refused.cookie);
    expect(verdict(back)).toBe('401 id_token_invalid');
    expect(await eventsOf('security.login_failed')).toMatchObject([
      { actor_id: null, metadata: { reason: 'unknown_identity' } },
    ]);
    const user = await addMember(database.unitOfWork, world);
    const linked = await gateway.send({
      method: 'POST',
      path: `/v1/admin/identity-providers/${strict.id}/identities`,
      apiKey: world.apiKey,
      body: { principal_id: user.principalId, subject: 'lise' },
    });
    expect(linked.status, linked.text).toBe(200);
    const signedIn = await signIn(gateway, server, strict.slug, 'lise');
    const own = await call('/v1/sessions', bearer(signedIn.access_token));
    expect(own.body.data[0].principal_id).toBe(user.principalId);
  });

  it('takes a handle once', async () => {
    const started = await startLogin(gateway, provider.slug);
    const handle = handleOf(await callback(gateway, server.authorize(started.address), started.cookie));
    const { cookie } = started;
    expect((await redeem(gateway, { handle }, { cookie })).status).toBe(200);
    expect(verdict(await redeem(gateway, { handle }, { cookie }))).toBe('401 invalid_credentials');
    expect(await countSessions()).toBe(1);
  });

  it('can end at the API with an ID token that the caller obtained with the nonce of start', async () => {
    const started = await startLogin(gateway, provider.slug);
    const idToken = await server.idToken({ nonce: started.nonce, sub: 'ada', clientId: provider.clientId });
    const body = {
      provider_id: provider.slug,
      id_token: idToken,
      access_token: server.accessToken,
      expires_in: 3_600,
    };
    const opened = await redeem(gateway, body);
    expect(opened.status, opened.text).toBe(200);
    const seconds = (Date.parse(opened.body.expires_at as string) - Date.now()) / 1_000;
    expect(seconds).toBeGreaterThan(3_590);
    expect(seconds).toBeLessThanOrEqual(3_601);
  });

  it('gives the repeat of a request the same session with new tokens, and another body nothing', async () => {
    const started = await startLogin(gateway, provider.slug);
    const idToken = await server.idToken({ nonce: started.nonce, sub: 'ada', clientId: provider.clientId });
    const body = { provider_id: provider.slug, id_token: idToken };
    const key = { 'idempotency-key': 'login-1' };
    const first = await redeem(gateway, body, key);
    const second = await redeem(gateway, body, key);
    expect([first.status, second.status, second.headers['idempotent-replayed']]).toEqual([200, 200, 'true']);
    expect([second.body.session_id, second.body.expires_at]).toEqual([
      first.body.session_id,
      first.body.expires_at,
    ]);
    expect(second.body.access_token).not.toBe(first.body.access_token);
    expect(verdict(await call('/v1/sessions', bearer(first.body.access_token as string)))).toBe(
      '401 invalid_credentials',
    );
    expect((await call('/v1/sessions', bearer(second.body.access_token as string))).status).toBe(200);
    expect(verdict(await redeem(gateway, { ...body, expires_in: 60 }, key))).toBe(
      '422 idempotency_key_reused',
    );
    expect(verdict(await redeem(gateway, body, { 'idempotency-key': 'login-2' }))).toBe(
      '401 login_transaction_required',
    );
    expect(verdict(await redeem(gateway, body))).toBe('401 login_transaction_required');
    expect(await countSessions()).toBe(1);
  });

  it('can neither begin nor complete where the tenant is suspended', async () => {
    const started = await startLogin(gateway, provider.slug);
    const signedIn = await signIn(gateway, server, provider.slug);
    await admin.query(`update tenants set status = 'suspended' where tenant_id = $1`, [world.tenantId]);
    const again = await gateway.send({ method: 'GET', path: `/v1/auth/oidc/${provider.slug}/start` });
    expect(verdict(again)).toBe('403 tenant_suspended');
    expect(verdict(await callback(gateway, server.authorize(started.address), started.cookie))).toBe(
      '403 tenant_suspended',
    );
    expect(verdict(await refresh(gateway, signedIn.refresh_token))).toBe('403 tenant_suspended');
    expect(verdict(await call('/v1/sessions', bearer(signedIn.access_token)))).toBe('403 tenant_suspended');
  });

  it('of a disabled principal is refused by callback, handle and ID token', async () => {
    const signedIn = await signIn(gateway, server, provider.slug);
    await admin.query(
      `update principals set status = 'disabled' where id = (select principal_id from sessions where id = $1)`,
      [signedIn.session_id],
    );
    const started = await startLogin(gateway, provider.slug);
    expect(verdict(await callback(gateway, server.authorize(started.address), started.cookie))).toBe(
      '403 principal_disabled',
    );
    expect(verdict(await refresh(gateway, signedIn.refresh_token))).toBe('403 principal_disabled');
    expect(verdict(await call('/v1/sessions', bearer(signedIn.access_token)))).toBe('403 principal_disabled');
  });

  it('finds the tenant by the query where two have a provider of one slug, and says so where none is named', async () => {
    const strangers = await createWorld(database.unitOfWork);
    const theirs = await registerProvider(database, strangers, server, { slug: provider.slug });
    const at = (query: string) =>
      gateway.send({ method: 'GET', path: `/v1/auth/oidc/${provider.slug}/start${query}` });
    const ambiguous = await at('');
    expect(verdict(ambiguous)).toBe('422 invalid_request');
    expect(ambiguous.body.error).toMatchObject({ param: 'tenant' });
    const { rows } = await admin.query<{ slug: string }>('select slug from tenants where tenant_id = $1', [
      world.tenantId,
    ]);
    for (const tenant of [world.tenantId, rows[0]!.slug, world.tenantId.toUpperCase()]) {
      const started = await startLogin(gateway, provider.slug, `?tenant=${tenant}`);
      expect(new URL(started.address).searchParams.get('client_id')).toBe(provider.clientId);
      expect(new URL(started.address).searchParams.get('redirect_uri')).toMatch(
        new RegExp(`/v1/auth/oidc/${provider.id}/callback$`),
      );
    }
    const started = await startLogin(gateway, provider.slug, `?tenant=${rows[0]!.slug}`);
    const back = await callback(gateway, server.authorize(started.address), started.cookie);
    expect(back.status).toBe(200);
    expect(verdict(await at('?tenant=nobody-has-it'))).toBe('404 identity_provider_not_found');
    expect(verdict(await at('?tenant=a%20b'))).toMatch('422');
    for (const id of [provider.id, theirs.id]) await startLogin(gateway, id);
    await admin.query(`update identity_providers set status = 'disabled' where id = $1`, [theirs.id]);
    await startLogin(gateway, provider.slug);
    await admin.query(`update identity_providers set status = 'active' where id = $1`, [theirs.id]);
    await admin.query(`update tenants set status = 'suspended' where tenant_id = $1`, [strangers.tenantId]);
    await startLogin(gateway, provider.slug);
  });

  it('finds the tenant by the header where two have a provider of one slug', async () => {
    const other = await createWorld(database.unitOfWork);
    await registerProvider(database, other, server, { slug: provider.slug });
    const path = `/v1/auth/oidc/${provider.slug}/start`;
    expect(verdict(await gateway.send({ method: 'GET', path }))).toBe('422 invalid_request');
    const answer = await call(path, { 'x-tenant-id': other.tenantId });
    expect(answer.status).toBe(200);
    const { rows } = await admin.query(
      'select tenant_id from login_transactions where tenant_id = any ($1)',
      [[world.tenantId, other.tenantId]],
    );
    expect(rows).toEqual([{ tenant_id: other.tenantId }]);
    expect(
      verdict(await call(path, { 'x-tenant-id': (await createWorld(database.unitOfWork)).tenantId })),
    ).toBe('404 identity_provider_not_found');
  });

  it('reports a refusal to the frontend by a code of ours, never in a provider’s words', async () => {
    for (const [said, notified] of [
      ['access_denied', 'access_denied'],
      ['<script>alert(1)</script>', 'provider_error'],
    ] as const) {
      const started = await startLogin(gateway, provider.slug);
      const query = new URLSearchParams({
        error: said,
        error_description: 'Call 0900 1234',
        state: started.state,
        iss: server.issuer,
      });
      const path = `/v1/auth/oidc/${provider.id}/callback?${query.toString()}`;
      const answer = await call(path, { cookie: started.cookie });
      expect(answer.body).toEqual({ redirect_url: `${frontend}?error=${notified}` });
      expect(verdict(await call(path, { cookie: started.cookie }))).toBe('401 login_transaction_required');
    }
    expect((await eventsOf('security.login_failed')).map(({ metadata }) => metadata.reason)).toEqual([
      'access_denied',
      'provider_error',
    ]);
  });

  it('stays open when a request without its state or cookie reports a failure', async () => {
    const started = await startLogin(gateway, provider.slug);
    const path = `/v1/auth/oidc/${provider.id}/callback?error=access_denied&state=`;
    expect(verdict(await call(path + started.state, {}))).toBe('401 login_transaction_required');
    expect(verdict(await call(`${path}guessed`, { cookie: started.cookie }))).toBe(
      '401 login_transaction_required',
    );
    expect((await callback(gateway, server.authorize(started.address), started.cookie)).status).toBe(200);
  });

  it('answers 502 when the provider is away, and can be tried again', async () => {
    const gone = await registerProvider(database, world, { issuer: 'http://127.0.0.1:1', alg: 'ES256' });
    expect(verdict(await gateway.send({ method: 'GET', path: `/v1/auth/oidc/${gone.slug}/start` }))).toBe(
      '502 identity_provider_unavailable',
    );
  });
});

describe('an access token', () => {
  it('needs the same permissions as a key of its principal', async () => {
    const { access_token: token } = await signIn(gateway, server, provider.slug);
    const refused = await call('/v1/admin/sessions', bearer(token));
    expect(refused).toMatchObject({ status: 403, body: { error: { missing_permission: 'sessions.read' } } });
  });

  it('is refused with another principal’s key beside it, as a key, and for another tenant', async () => {
    const { access_token: token } = await signIn(gateway, server, provider.slug);
    expect(verdict(await call('/v1/sessions', { ...bearer(token), 'x-api-key': world.apiKey }))).toBe(
      '401 ambiguous_credentials',
    );
    expect(verdict(await call('/v1/sessions', { 'x-api-key': token }))).toBe('401 invalid_credentials');
    const other = await createWorld(database.unitOfWork);
    expect(verdict(await call('/v1/sessions', { ...bearer(token), 'x-tenant-id': other.tenantId }))).toBe(
      '403 tenant_mismatch',
    );
  });

  it('is reported as expired only to the holder of the exact token', async () => {
    const { access_token: token, session_id: id } = await signIn(gateway, server, provider.slug);
    await admin.query(
      `update session_tokens set expires_at = now() where session_id = $1 and kind = 'access'`,
      [id],
    );
    expect(verdict(await call('/v1/sessions', bearer(token)))).toBe('401 token_expired');
    expect(
      verdict(await call('/v1/sessions', bearer(`${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`))),
    ).toBe('401 invalid_credentials');
  });

  it('is nowhere in the database, and neither is a refresh token or a client’s secret', async () => {
    const signedIn = await signIn(gateway, server, provider.slug);
    const { rows } = await admin.query<{ dump: string }>(
      `select string_agg(t::text, e'\\n') as dump from (
         select to_jsonb(x) as t from session_tokens x union all select to_jsonb(x) from login_transactions x
         union all select to_jsonb(x) from identity_providers x union all select to_jsonb(x) from events x
         union all select to_jsonb(x) from sessions x union all select to_jsonb(x) from used_id_tokens x) all_rows`,
    );
    const dump = rows[0]!.dump;
    expect(dump).toContain(signedIn.session_id);
    for (const secret of [
      signedIn.access_token,
      signedIn.refresh_token,
      'upstream-client-secret',
      server.accessToken,
    ]) {
      expect(dump.includes(secret.replace(/^.t\./, ''))).toBe(false);
    }
  });
});

describe('a session', () => {
  it('ends by its own logout, for access and refresh alike', async () => {
    const signedIn = await signIn(gateway, server, provider.slug);
    const out = await call('/v1/auth/logout', bearer(signedIn.access_token), 'POST');
    expect(out.body.data).toMatchObject({
      session_id: signedIn.session_id,
      status: 'ended',
      end_reason: 'logout',
    });
    expect(verdict(await call('/v1/sessions', bearer(signedIn.access_token)))).toBe(
      '401 invalid_credentials',
    );
    expect(verdict(await refresh(gateway, signedIn.refresh_token))).toBe('401 invalid_credentials');
    expect(await eventsOf('security.logout')).toMatchObject([{ resource_id: signedIn.session_id }]);
    expect(
      verdict(await gateway.send({ method: 'POST', path: '/v1/auth/logout', apiKey: world.apiKey })),
    ).toBe('409 invalid_state');
  });

  it('is revoked by its own user or by an administrator only', async () => {
    const mine = await signIn(gateway, server, provider.slug, 'ada');
    const theirs = await signIn(gateway, server, provider.slug, 'grace');
    const path = `/v1/sessions/${theirs.session_id}`;
    expect(await call(path, bearer(mine.access_token), 'DELETE')).toMatchObject({
      status: 403,
      body: { error: { missing_permission: 'sessions.revoke' } },
    });
    const other = await createWorld(database.unitOfWork);
    expect(verdict(await gateway.send({ method: 'DELETE', path, apiKey: other.apiKey }))).toBe(
      '404 session_not_found',
    );
    // Only principals who may end the session learn whether it exists.
    expect(verdict(await call(`/v1/sessions/${randomUUID()}`, bearer(mine.access_token), 'DELETE'))).toBe(
      '403 missing_permission',
    );
    const revoked = await gateway.send({ method: 'DELETE', path, apiKey: world.apiKey });
    expect(revoked.body.data).toMatchObject({ status: 'ended', end_reason: 'revoked' });
    expect((await gateway.send({ method: 'DELETE', path, apiKey: world.apiKey })).status).toBe(200);
    expect(verdict(await call('/v1/sessions', bearer(theirs.access_token)))).toBe('401 invalid_credentials');
    const own = await call(`/v1/sessions/${mine.session_id}`, bearer(mine.access_token), 'DELETE');
    expect(own.status).toBe(200);
    expect((await eventsOf('security.session_revoked')).map((event) => event.resource_id)).toEqual([
      theirs.session_id,
      mine.session_id,
    ]);
  });

  it('is not ended by a key of its user with other permissions', async () => {
    const member = await addMember(database.unitOfWork, world, { keyPermissions: ['responses.create'] });
    await admin.query(
      `insert into external_identities (tenant_id, provider_id, subject, principal_id) values ($1, $2, 'edith', $3)`,
      [world.tenantId, provider.id, member.principalId],
    );
    const mine = await signIn(gateway, server, provider.slug, 'edith');
    const path = `/v1/sessions/${mine.session_id}`;
    expect(verdict(await gateway.send({ method: 'DELETE', path, apiKey: member.apiKey }))).toBe(
      '403 missing_permission',
    );
    expect((await call('/v1/sessions', bearer(mine.access_token))).status).toBe(200);
  });

  it('does not begin while its provider is being disabled', async () => {
    const started = await startLogin(gateway, provider.slug);
    const back = await callback(gateway, server.authorize(started.address), started.cookie);
    await admin.query('begin');
    await admin.query(`update identity_providers set status = 'disabled' where tenant_id = $1 and id = $2`, [
      world.tenantId,
      provider.id,
    ]);
    const opened = redeem(gateway, { handle: handleOf(back) }, { cookie: started.cookie });
    await untilBlocked(admin);
    await admin.query('commit');
    expect((await opened).status).toBe(401);
    expect(await countSessions()).toBe(0);
  });

  it('lasts when its provider is set to its present value, which writes no event but that it is confirmed', async () => {
    const signedIn = await signIn(gateway, server, provider.slug);
    const set = (body: object) =>
      gateway.send({
        method: 'PATCH',
        path: `/v1/admin/identity-providers/${provider.id}`,
        apiKey: world.apiKey,
        body,
      });
    const changes = async () =>
      (await eventsOf('security.identity_provider_changed'))
        .filter(({ metadata }) => metadata['change'] !== 'added')
        .map(({ metadata }) => [metadata['change'], metadata['changed_fields'], metadata['sessions_ended']]);
    const same = {
      display_name: 'People',
      redirect_uris: [frontend],
      status: 'active',
      strict_rotation: false,
    };
    const first = await set(same);
    expect(first.status, first.text).toBe(200);
    expect((await set({})).body).toEqual(first.body);
    expect((await set(same)).body).toEqual(first.body);
    expect(await changes()).toEqual([['confirmed', ['confirmedBy'], 0]]);
    expect((await call('/v1/sessions', bearer(signedIn.access_token))).status).toBe(200);
    // Only changed fields are named; a supplied secret always counts as new.
    await set({ ...same, display_name: 'Everybody', client_secret: 'upstream-client-secret' });
    await set({ client_secret: null });
    await set({ client_secret: null });
    await set({ status: 'disabled' });
    await set({ status: 'disabled' });
    expect((await changes()).slice(1)).toEqual([
      ['updated', ['displayName', 'clientSecret'], 0],
      ['updated', ['clientSecret'], 0],
      ['disabled', ['status'], 1],
    ]);
  });

  it('ends when its provider is disabled, and no other can begin', async () => {
    const signedIn = await signIn(gateway, server, provider.slug);
    const started = await startLogin(gateway, provider.slug);
    const answer = await gateway.send({
      method: 'PATCH',
      path: `/v1/admin/identity-providers/${provider.id}`,
      apiKey: world.apiKey,
      body: { status: 'disabled' },
    });
    expect(answer.body.data).toMatchObject({ status: 'disabled', has_client_secret: true });
    expect(verdict(await call('/v1/sessions', bearer(signedIn.access_token)))).toBe(
      '401 invalid_credentials',
    );
    expect(verdict(await callback(gateway, server.authorize(started.address), started.cookie))).toBe(
      '401 login_transaction_required',
    );
    expect(verdict(await gateway.send({ method: 'GET', path: `/v1/auth/oidc/${provider.slug}/start` }))).toBe(
      '404 identity_provider_not_found',
    );
  });
});

describe('a refresh', () => {
  it('gives new tokens, and keeps the old refresh token until the new one is used', async () => {
    const { refresh_token: first } = await signIn(gateway, server, provider.slug);
    const once = await refresh(gateway, first);
    expect(once.body).toMatchObject({ token_type: 'bearer', expires_in: 600 });
    const twice = await refresh(gateway, first);
    expect(twice.status).toBe(200);
    expect((await call('/v1/sessions', bearer(twice.body.access_token as string))).status).toBe(200);
    expect((await refresh(gateway, twice.body.refresh_token as string)).status).toBe(200);
  });

  it('by a grandparent ends the session at once, and writes an event', async () => {
    const {
      refresh_token: first,
      session_id: id,
      access_token: token,
    } = await signIn(gateway, server, provider.slug);
    const second = (await refresh(gateway, first)).body.refresh_token as string;
    const third = (await refresh(gateway, second)).body.refresh_token as string;
    expect((await refresh(gateway, third)).status).toBe(200);
    expect(verdict(await refresh(gateway, first))).toBe('401 invalid_credentials');
    expect(verdict(await refresh(gateway, third))).toBe('401 invalid_credentials');
    expect(verdict(await call('/v1/sessions', bearer(token)))).toBe('401 invalid_credentials');
    expect(await eventsOf('security.refresh_reuse_detected')).toMatchObject([{ resource_id: id }]);
  });

  it('by the previous token works for thirty seconds, and then ends the session', async () => {
    const { refresh_token: first, session_id: id } = await signIn(gateway, server, provider.slug);
    const second = (await refresh(gateway, first)).body.refresh_token as string;
    expect((await refresh(gateway, second)).status).toBe(200);
    expect((await refresh(gateway, first)).status).toBe(200);
    await admin.query(
      `update session_tokens set retired_at = retired_at - interval '31 seconds' where session_id = $1`,
      [id],
    );
    expect(verdict(await refresh(gateway, first))).toBe('401 invalid_credentials');
    expect(verdict(await refresh(gateway, second))).toBe('401 invalid_credentials');
  });

  it('retires its own token at once where the provider is strict', async () => {
    const strict = await registerProvider(database, world, server, { strictRotation: true });
    const { refresh_token: first, session_id: id } = await signIn(gateway, server, strict.slug);
    expect((await refresh(gateway, first)).status).toBe(200);
    await admin.query(
      `update session_tokens set retired_at = retired_at - interval '31 seconds' where session_id = $1`,
      [id],
    );
    expect(verdict(await refresh(gateway, first))).toBe('401 invalid_credentials');
    expect(await eventsOf('security.refresh_reuse_detected')).toHaveLength(1);
  });

  it('takes no access token, no key, no handle and no second person’s key', async () => {
    const { access_token: token, refresh_token: mine } = await signIn(gateway, server, provider.slug);
    for (const credential of [
      token,
      world.apiKey,
      `lh.${mine.slice(3)}`,
      `at.${mine.slice(3)}`,
      'x',
      mine.toUpperCase(),
    ]) {
      expect(verdict(await refresh(gateway, credential)), credential.slice(0, 3)).toBe(
        '401 invalid_credentials',
      );
    }
    const both = { ...bearer(mine), 'x-api-key': world.apiKey };
    expect(verdict(await call('/v1/refresh', both, 'POST'))).toBe('401 ambiguous_credentials');
    expect(verdict(await call('/v1/refresh', {}, 'POST'))).toBe('401 not_authenticated');
  });
});
