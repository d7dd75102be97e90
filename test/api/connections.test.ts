import type { Client } from 'pg';
import {
  AuthorizationFailure,
  discoveryMs,
  requestMs,
  type AuthorizationServers,
  type AuthorizationTarget,
} from '#domain/capabilities/connections/authorization-servers.ts';
import { chooseClient } from '#domain/capabilities/connections/choose-client.ts';
import {
  callbackAt,
  callbackUri,
  clientDocumentUrl,
  issuerKey,
} from '#domain/capabilities/connections/connection-parts.ts';
import { leaseMs } from '#domain/capabilities/connection-tokens/refresh-lease.ts';
import { sweeps } from '#domain/operations/maintenance/sweeps.ts';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openGateway, type Answer, type TestGateway } from '../support/gateway.ts';
import { formIn, Popup } from '../support/popup.ts';
import { Maker } from '../support/places.ts';
import { SignInMaker } from '../support/sign-in-fixtures.ts';
import { sweepOnce } from '../support/sweeps.ts';
import { connect } from '../support/tables.ts';
import { addMember, createWorld, secrets, type World } from '../support/world.ts';

const own = { apiUrl: 'http://127.0.0.1:8080/api', redirectUris: [], clientDocumentUrl: null };
const done = 'http://127.0.0.1:8080/api/v1/mcp-auth/done';
const app = 'https://app.example.com/connected?from=platform';

let database: TestDatabase;
let gateway: TestGateway;
let world: World;
let admin: Client;

beforeAll(async () => {
  database = await createTestDatabase();
  admin = await connect(database.adminUrl);
  gateway = await openGateway(database, { MCP_AUTH_REDIRECT_URIS: app });
  world = await createWorld(database.unitOfWork);
});
afterAll(async () => {
  await gateway?.close();
  await admin?.end();
  await database?.drop();
});

let count = 0;

async function registerServer(
  mode: 'none' | 'personal' | 'shared' = 'personal',
  spaceId = world.spaceId,
): Promise<string> {
  count += 1;
  const made = await gateway.send({
    method: 'POST',
    path: `/v1/spaces/${spaceId}/mcp-servers`,
    apiKey: world.apiKey,
    body: {
      slug: `c${count}`,
      display_name: 'Tickets & <Co>',
      url: 'https://tools.example.com/mcp',
      connection_mode: mode,
    },
  });
  expect(made.status, made.text).toBe(201);
  return made.body.data.mcp_server_config_id as string;
}

const editor = () => addMember(database.unitOfWork, world, { spaceRole: 'space_editor' });

async function memberOf(principalId: string): Promise<string> {
  const { rows } = await admin.query<{ id: string }>(
    'select id from space_members where principal_id = $1 and space_id = $2',
    [principalId, world.spaceId],
  );
  return rows[0]!.id;
}

const initiate = (serverId: string, apiKey = world.apiKey, redirectUri = done): Promise<Answer> =>
  gateway.send({
    method: 'POST',
    path: `/v1/mcp-auth/${serverId}/initiate?redirect_uri=${encodeURIComponent(redirectUri)}`,
    apiKey,
  });

const complete = (handle: string, apiKey = world.apiKey): Promise<Answer> =>
  gateway.send({ method: 'POST', path: '/v1/mcp-auth/complete', apiKey, body: { handle } });

const connectionOf = async (serverId: string, apiKey = world.apiKey) =>
  (
    await gateway.send({
      method: 'GET',
      path: `/v1/spaces/${world.spaceId}/mcp-servers/${serverId}/connection`,
      apiKey,
    })
  ).body.data;

const disconnect = (serverId: string, apiKey = world.apiKey): Promise<Answer> =>
  gateway.send({
    method: 'DELETE',
    path: `/v1/spaces/${world.spaceId}/mcp-servers/${serverId}/connection`,
    apiKey,
  });

/** Opens the popup, consents and comes back; the handle. */
async function authorize(
  serverId: string,
  apiKey = world.apiKey,
  popup = new Popup(gateway),
): Promise<string> {
  const { popup_url: url } = (await initiate(serverId, apiKey)).body.data;
  const address = await popup.decide(url, 'continue');
  const state = address.searchParams.get('state')!;
  const back = await popup.comeBack({ state, code: `code-${count}` });
  expect(back.status, back.text).toBe(303);
  return new URL(back.headers['location']!).searchParams.get('handle')!;
}

async function connectAs(serverId: string, apiKey = world.apiKey): Promise<void> {
  const completed = await complete(await authorize(serverId, apiKey), apiKey);
  expect(completed.status, completed.text).toBe(200);
}

const waitingForLocks = async (): Promise<number> =>
  (
    await admin.query<{ n: number }>(
      `select count(*)::int as n from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock'`,
    )
  ).rows[0]!.n;

const eventsOf = async (serverId: string) =>
  (
    await admin.query<{ what: string }>(
      `select event_type || coalesce(' ' || (metadata ->> 'reason'), '') as what from events
       where resource_id = $1 and event_type like 'security.mcp_auth%' order by id`,
      [serverId],
    )
  ).rows.map(({ what }) => what.replace('security.mcp_auth_', ''));

/** The page in place of an error. */
const over = { status: 404, text: expect.stringContaining('<h1>This attempt is over</h1>') };
const notThere = { status: 404, body: { error: { code: 'authorization_attempt_not_found' } } };

describe('connecting an account', () => {
  it('leads from the popup to the authorization server and back to the initiator, whose tokens are stored sealed', async () => {
    const serverId = await registerServer();
    expect(await connectionOf(serverId)).toMatchObject({ status: 'auth_required', owner: 'personal' });
    const begun = await initiate(serverId);
    expect(begun).toMatchObject({ status: 200 });
    const { popup_url: url, expires_at: expiresAt } = begun.body.data;
    expect([...new URL(url).searchParams.keys()]).toEqual(['nonce']);
    expect(Date.parse(expiresAt) - Date.now()).toBeGreaterThan(590_000);
    expect(await connectionOf(serverId)).toMatchObject({ status: 'pending' });

    const popup = new Popup(gateway);
    const page = await popup.open(url);
    expect(page.status).toBe(200);
    expect(page.text).toContain('Tickets &amp; &lt;Co&gt;');
    expect(page.text).toContain('tools.read');
    expect(page.text).toContain('sign in at <code>login.example.com</code>');
    expect(page.text).toContain('<code>https://tools.example.com/mcp</code>');
    expect(page.headers['content-security-policy']).toContain("frame-ancestors 'none'");
    expect(page.headers['x-frame-options']).toBe('DENY');
    expect(page.headers['cache-control']).toBe('no-store');
    expect(page.headers['set-cookie']).toMatch(/^__Host-mcp-auth-[\w-]+=.*HttpOnly; Secure; SameSite=Lax/);

    const address = new URL((await popup.answer(page.text, 'continue')).headers['location']!);
    expect(address.origin).toBe('https://login.example.com');
    expect(address.searchParams.get('code_challenge_method')).toBe('S256');
    expect(address.searchParams.get('resource')).toBe('https://tools.example.com/mcp');
    const callback = address.searchParams.get('redirect_uri')!;
    expect(callback).toMatch(/^http:\/\/127\.0\.0\.1:8080\/api\/v1\/mcp-auth\/callback\/[\w-]{22}$/);
    const state = address.searchParams.get('state')!;
    const back = await popup.comeBack({ state, code: 'the-code' }, callback);
    expect(back.status).toBe(303);
    const end = new URL(back.headers['location']!);
    expect(`${end.origin}${end.pathname}`).toBe(done);
    gateway.dispatched.splice(0);
    const completed = await complete(end.searchParams.get('handle')!);
    expect(completed.body.data).toMatchObject({
      status: 'connected',
      issuer: 'https://login.example.com',
      granted_scopes: ['tools.read'],
    });
    expect(gateway.dispatched).toMatchObject([
      { workflowType: 'discoverTools', payload: { serverId, principalId: world.owner.principalId } },
    ]);
    expect(await eventsOf(serverId)).toEqual(['started', 'granted']);
    const { rows } = await admin.query('select tokens from mcp_connections where server_id = $1', [serverId]);
    expect(rows[0].tokens).toMatch(/^v1\|/);
    const left = await admin.query(
      `select count(*)::int as n from authorization_attempts
       where server_id = $1 and (verifier is not null or code is not null or state_hash is not null)`,
      [serverId],
    );
    expect(left.rows[0].n).toBe(0);
  });

  it('connects each person alone at a personal server; administrators see who, never with what', async () => {
    const serverId = await registerServer();
    const [ann, ben] = [await editor(), await editor()];
    await connectAs(serverId, ann.apiKey);
    expect(await connectionOf(serverId, ben.apiKey)).toMatchObject({ status: 'auth_required' });
    await connectAs(serverId, ben.apiKey);
    const list = await gateway.send({
      method: 'GET',
      path: `/v1/spaces/${world.spaceId}/mcp-servers/${serverId}/connections`,
      apiKey: world.apiKey,
    });
    expect(list.body.data.map((each: { principal_id: string }) => each.principal_id)).toEqual([
      ben.principalId,
      ann.principalId,
    ]);
    expect(Object.keys(list.body.data[0])).toEqual([
      'principal_id',
      'connected_by',
      'connected_by_is_member',
      'status',
      'connected_at',
    ]);
    expect(await disconnect(serverId, ann.apiKey)).toMatchObject({ status: 200 });
    expect(await connectionOf(serverId, ann.apiKey)).toMatchObject({ status: 'auth_required' });
    expect(await connectionOf(serverId, ben.apiKey)).toMatchObject({ status: 'connected' });
  });

  it('is for every member that may call tools: of their own account, not of the shared one', async () => {
    const serverId = await registerServer();
    const { apiKey, principalId } = await addMember(database.unitOfWork, world);
    await connectAs(serverId, apiKey);
    expect(await connectionOf(serverId, apiKey)).toMatchObject({ status: 'connected' });
    const { rows } = await admin.query('select owner_id from mcp_connections where server_id = $1', [
      serverId,
    ]);
    expect(rows).toEqual([{ owner_id: principalId }]);
    expect(await disconnect(serverId, apiKey)).toMatchObject({ status: 200 });
    expect(await initiate(await registerServer('shared'), apiKey)).toMatchObject({
      status: 403,
      body: { error: { missing_permission: 'mcp_servers.update' } },
    });
  });

  it('connects the space at a shared server', async () => {
    const serverId = await registerServer('shared');
    const ann = await addMember(database.unitOfWork, world, { spaceRole: 'space_admin' });
    await connectAs(serverId, ann.apiKey);
    expect(await connectionOf(serverId)).toMatchObject({ status: 'connected', owner: 'shared' });
    const { apiKey } = await editor();
    const refused = { status: 403, body: { error: { missing_permission: 'mcp_servers.update' } } };
    expect(await initiate(serverId, apiKey)).toMatchObject(refused);
    expect(await disconnect(serverId, apiKey)).toMatchObject(refused);
    expect(await disconnect(serverId)).toMatchObject({ status: 200 });
    expect(await connectionOf(serverId, ann.apiKey)).toMatchObject({ status: 'auth_required' });
    expect(await eventsOf(serverId)).toEqual(['started', 'granted', 'revoked disconnected']);
    const { rows } = await admin.query('select 1 from mcp_connections where server_id = $1', [serverId]);
    expect(rows).toEqual([]);
  });

  it('ends with a reason, and can begin again, when the person cancels or denies or the server fails', async () => {
    const serverId = await registerServer();
    const popup = new Popup(gateway);
    const cancelled = await popup.decide((await initiate(serverId)).body.data.popup_url, 'cancel');
    expect(cancelled.searchParams.get('error')).toBe('cancelled');
    for (const [error, reason] of [
      ['access_denied', 'denied'],
      ['server_error', 'provider_unavailable'],
      ['<script>', 'provider_error'],
    ] as const) {
      const address = await popup.decide((await initiate(serverId)).body.data.popup_url, 'continue');
      const state = address.searchParams.get('state')!;
      const back = await popup.comeBack({ state, error, error_description: 'Call 555-HACK.' });
      expect(new URL(back.headers['location']!).searchParams.get('error')).toBe(reason);
      expect(back.headers['location']).not.toContain('HACK');
      expect(await popup.comeBack({ state, code: 'late' })).toMatchObject(over);
    }
    await initiate(serverId);
    await connectAs(serverId);
    expect(await eventsOf(serverId)).toEqual([
      'started',
      'failed cancelled',
      'started',
      'failed denied',
      'started',
      'failed provider_unavailable',
      'started',
      'failed provider_error',
      'started',
      'failed replaced',
      'started',
      'granted',
    ]);
  });

  it('is refused without the permission, for other redirect addresses, and at servers without connections', async () => {
    const serverId = await registerServer();
    const { apiKey } = await addMember(database.unitOfWork, world, { spaceRole: 'space_viewer' });
    const refused = { status: 403, body: { error: { missing_permission: 'tools.execute' } } };
    expect(await initiate(serverId, apiKey)).toMatchObject(refused);
    expect(await disconnect(serverId, apiKey)).toMatchObject(refused);
    for (const uri of [
      `${done}/`,
      `${done}?x=1`,
      `${app}&more`,
      'https://app.example.com/connected',
      `${done}#`,
    ]) {
      expect(await initiate(serverId, world.apiKey, uri)).toMatchObject({
        status: 403,
        body: { error: { code: 'redirect_uri_not_allowed', param: 'redirect_uri' } },
      });
    }
    expect(await initiate(serverId, world.apiKey, app)).toMatchObject({ status: 200 });
    expect(await initiate(await registerServer('none'))).toMatchObject({
      status: 409,
      body: { error: { code: 'invalid_state' } },
    });
    const other = await createWorld(database.unitOfWork);
    expect(await initiate(serverId, other.apiKey)).toMatchObject({
      status: 404,
      body: { error: { code: 'mcp_server_not_found' } },
    });
  });
});

describe('a connection', () => {
  const left = async (serverId: string) =>
    (
      await admin.query<{ status: string }>('select status from mcp_connections where server_id = $1', [
        serverId,
      ])
    ).rows.map(({ status }) => status);
  const sweep = () => {
    const { authorizationServers } = gateway.gateway;
    return sweepOnce(sweeps.revokeConnections.sweep, { ...database, secrets, authorizationServers });
  };

  it('ends when its person leaves the space', async () => {
    const serverId = await registerServer();
    const [ann, ben] = [await editor(), await editor()];
    await connectAs(serverId, ann.apiKey);
    await connectAs(serverId, ben.apiKey);
    const removed = await gateway.send({
      method: 'DELETE',
      path: `/v1/spaces/${world.spaceId}/members/${await memberOf(ann.principalId)}`,
      apiKey: world.apiKey,
    });
    expect(removed.status, removed.text).toBe(200);
    expect((await left(serverId)).sort()).toEqual(['connected', 'revoked']);
    expect(await sweep()).toMatchObject({ done: 1, failed: 0 });
    expect(await left(serverId)).toEqual(['connected']);
    expect((await eventsOf(serverId)).at(-1)).toBe('revoked member_removed');
  });

  it('that its person ends is not made again by a popup that was open', async () => {
    const serverId = await registerServer();
    const ann = await editor();
    await connectAs(serverId, ann.apiKey);
    const [handle, ofOwner] = [await authorize(serverId, ann.apiKey), await authorize(serverId)];
    expect((await disconnect(serverId, ann.apiKey)).status).toBe(200);
    expect(await connectionOf(serverId, ann.apiKey)).toMatchObject({ status: 'auth_required' });
    expect(await complete(handle, ann.apiKey)).toMatchObject(notThere);
    expect((await eventsOf(serverId)).at(-1)).toBe('failed replaced');
    expect(await complete(ofOwner)).toMatchObject({ status: 200 });
  });

  it('of a space outlives the membership of the person that made it, which administrators see', async () => {
    const serverId = await registerServer('shared');
    const ann = await addMember(database.unitOfWork, world, { spaceRole: 'space_admin' });
    await connectAs(serverId, ann.apiKey);
    const list = async () =>
      (
        await gateway.send({
          method: 'GET',
          path: `/v1/spaces/${world.spaceId}/mcp-servers/${serverId}/connections`,
          apiKey: world.apiKey,
        })
      ).body.data;
    const shown = { principal_id: null, connected_by: ann.principalId, status: 'connected' };
    expect(await list()).toMatchObject([{ ...shown, connected_by_is_member: true }]);
    const removed = await gateway.send({
      method: 'DELETE',
      path: `/v1/spaces/${world.spaceId}/members/${await memberOf(ann.principalId)}`,
      apiKey: world.apiKey,
    });
    expect(removed.status, removed.text).toBe(200);
    expect(await list()).toMatchObject([{ ...shown, connected_by_is_member: false }]);
    expect(await disconnect(serverId)).toMatchObject({ status: 200 });
  });

  it('ends when its server gets another mode, and does not come back with it', async () => {
    const serverId = await registerServer();
    const ann = await editor();
    await connectAs(serverId, ann.apiKey);
    const update = (mode: string) =>
      gateway.send({
        method: 'PATCH',
        path: `/v1/spaces/${world.spaceId}/mcp-servers/${serverId}`,
        apiKey: world.apiKey,
        body: { connection_mode: mode },
      });
    expect((await update('shared')).body.data).toMatchObject({ connection_mode: 'shared' });
    expect(await connectionOf(serverId, ann.apiKey)).toMatchObject({ status: 'auth_required' });
    expect(await sweep()).toMatchObject({ done: 1 });
    expect(await left(serverId)).toEqual([]);
    expect((await eventsOf(serverId)).at(-1)).toBe('revoked mode_changed');
    await update('personal');
    expect(await connectionOf(serverId, ann.apiKey)).toMatchObject({ status: 'auth_required' });
  });

  it('and a credential of the server exclude each other', async () => {
    const serverId = await registerServer();
    const { body } = await gateway.send({
      method: 'POST',
      path: `/v1/spaces/${world.spaceId}/credentials`,
      apiKey: world.apiKey,
      body: { name: 'token', kind: 'bearer', origin: 'https://tools.example.com', value: { token: 'tk-1' } },
    });
    const path = `/v1/spaces/${world.spaceId}/mcp-servers/${serverId}`;
    const patch = (more: object) => gateway.send({ method: 'PATCH', path, apiKey: world.apiKey, body: more });
    expect(await patch({ credential_id: body.data.id })).toMatchObject({
      status: 422,
      body: { error: { code: 'invalid_request', param: 'connection_mode' } },
    });
    expect(await patch({ client_credential_id: body.data.id })).toMatchObject({
      status: 422,
      body: { error: { code: 'invalid_request', param: 'client_credential_id' } },
    });
    expect(await patch({ connection_resource: 'https://tools.example.com/#a' })).toMatchObject({
      status: 422,
      body: { error: { param: 'connection_resource' } },
    });
    expect(await patch({ connection_mode: 'none', credential_id: body.data.id })).toMatchObject({
      status: 200,
    });
  });

  it('is asked for the resource of its own server alone; an application id needs the permission for credentials', async () => {
    const serverId = await registerServer();
    const path = `/v1/spaces/${world.spaceId}/mcp-servers/${serverId}`;
    const update = (resource: string, apiKey = world.apiKey) =>
      gateway.send({ method: 'PATCH', path, apiKey, body: { connection_resource: resource } });
    for (const resource of [
      'https://tools.example.com/mcp/',
      'https://tools.example.com',
      'https://tools.example.com/',
    ]) {
      expect(await update(resource), resource).toMatchObject({ status: 200 });
    }
    for (const resource of [
      'https://other.example.com/mcp',
      'http://tools.example.com/mcp',
      'https://tools.example.com.evil.example/mcp',
      'https://tools.example.com@evil.example/mcp',
      'https://user@tools.example.com/mcp',
      '//tools.example.com/mcp',
      'tools',
    ]) {
      expect(await update(resource), resource).toMatchObject({
        status: 422,
        body: { error: { param: 'connection_resource' } },
      });
    }
    const { apiKey } = await addMember(database.unitOfWork, world, {
      spaceRole: 'space_admin',
      keyPermissions: ['mcp_servers.update', 'tools.execute'],
    });
    expect(await update('api://11111111-2222/tools', apiKey)).toMatchObject({
      status: 403,
      body: { error: { missing_permission: 'credentials.manage' } },
    });
    expect(await update('api://11111111-2222/tools')).toMatchObject({ status: 200 });
    const page = await new Popup(gateway).open((await initiate(serverId)).body.data.popup_url);
    expect(page.text).toContain('<code>api://11111111-2222/tools</code>');
  });

  it('uses a stored client at its own authorization server alone', async () => {
    const register = async (of: { token_url: string } | { issuer: string }) => {
      const made = await gateway.send({
        method: 'POST',
        path: `/v1/spaces/${world.spaceId}/credentials`,
        apiKey: world.apiKey,
        body: {
          name: JSON.stringify(of),
          kind: 'oauth2_client',
          origin: 'https://tools.example.com',
          value: { client_id: 'ours', client_secret: 'secret', ...of },
        },
      });
      const serverId = await registerServer();
      const path = `/v1/spaces/${world.spaceId}/mcp-servers/${serverId}`;
      const body = { client_credential_id: made.body.data.id };
      await gateway.send({ method: 'PATCH', path, apiKey: world.apiKey, body });
      return { serverId, credential: made.body.data.id as string };
    };
    const good = await register({ token_url: 'https://login.example.com/token' });
    const issuer = await register({ issuer: 'https://login.example.com' });
    for (const { serverId } of [good, issuer]) {
      const { popup_url: url } = (await initiate(serverId)).body.data;
      const address = await new Popup(gateway).decide(url, 'continue');
      expect(address.searchParams.get('client_id')).toBe('ours');
    }
    const deletion = await gateway.send({
      method: 'DELETE',
      path: `/v1/spaces/${world.spaceId}/credentials/${good.credential}`,
      apiKey: world.apiKey,
    });
    expect(deletion).toMatchObject({
      status: 409,
      body: { error: { code: 'credential_in_use', used_by: [{ type: 'mcp_server', id: good.serverId }] } },
    });
    const others = [
      { token_url: 'https://login.other.example.com/token' },
      { issuer: 'https://login.other.example.com' },
      { issuer: 'https://login.example.com/' },
    ];
    for (const other of others) {
      expect(await initiate((await register(other)).serverId)).toMatchObject({
        status: 409,
        body: { error: { code: 'authorization_client_required' } },
      });
    }
  });
});

describe('tokens that were issued', () => {
  let original: AuthorizationServers;
  beforeAll(() => {
    original = { ...gateway.gateway.authorizationServers };
  });
  afterEach(() => {
    Object.assign(gateway.gateway.authorizationServers, original);
  });

  /** Something else happens while the code is exchanged. @returns the tokens that are revoked */
  function during(work: () => Promise<unknown>): string[] {
    const revoked: string[] = [];
    const { authorizationServers } = gateway.gateway;
    authorizationServers.exchange = async (...call) => {
      const issued = await original.exchange(...call);
      await work();
      return issued;
    };
    authorizationServers.revoke = async (_grant, { token }) => {
      revoked.push(token);
      return true;
    };
    return revoked;
  }

  it('are kept when the same person begins again meanwhile', async () => {
    const serverId = await registerServer();
    const handle = await authorize(serverId);
    const revoked = during(() => initiate(serverId));
    expect(await complete(handle)).toMatchObject({ status: 200, body: { data: { status: 'connected' } } });
    expect(revoked).toEqual([]);
  });

  it('are kept when the time of the attempt ends meanwhile', async () => {
    const serverId = await registerServer();
    const handle = await authorize(serverId);
    await admin.query(
      `update authorization_attempts set expires_at = now() + interval '1 second' where server_id = $1`,
      [serverId],
    );
    during(async () => {
      await new Promise((resolve) => setTimeout(resolve, 1_100));
      await sweepOnce(sweeps.endAttempts.sweep, { ...database, secrets });
    });
    expect(await complete(handle)).toMatchObject({ status: 200 });
  });

  it.each([
    ['the server was removed', 'delete from mcp_servers where id = $1'],
    [
      'the attempt was ended',
      `update authorization_attempts set stage = 'ended', end_reason = 'timed_out' where server_id = $1`,
    ],
  ])('are revoked when %s meanwhile', async (_what, change) => {
    const serverId = await registerServer();
    const handle = await authorize(serverId);
    const revoked = during(() => admin.query(change, [serverId]));
    expect(await complete(handle)).toMatchObject({ status: 404 });
    expect(revoked).toEqual([`refresh-code-${count}`]);
    expect((await eventsOf(serverId)).filter((what) => what === 'granted')).toEqual([]);
  });

  it('are revoked when the person leaves the space while they are being stored', async () => {
    const serverId = await registerServer();
    const ann = await editor();
    const handle = await authorize(serverId, ann.apiKey);
    const revoked = during(async () => undefined);
    const holder = await connect(database.adminUrl);
    await holder.query('begin');
    await holder.query('select from mcp_servers where id = $1 for update', [serverId]);
    const completed = complete(handle, ann.apiKey);
    await vi.waitFor(async () => expect(await waitingForLocks()).toBe(1));
    const removed = await gateway.send({
      method: 'DELETE',
      path: `/v1/spaces/${world.spaceId}/members/${await memberOf(ann.principalId)}`,
      apiKey: world.apiKey,
    });
    expect(removed.status, removed.text).toBe(200);
    await holder.query('commit');
    await holder.end();
    expect(await completed).toMatchObject({ status: 403, body: { error: { code: 'missing_permission' } } });
    expect(revoked).toEqual([`refresh-code-${count}`]);
    const { rows } = await admin.query('select from mcp_connections where server_id = $1', [serverId]);
    expect(rows).toEqual([]);
  });

  it('are revoked when the space is deleted while they are being stored', async () => {
    const made = await gateway.send({
      method: 'POST',
      path: '/v1/spaces',
      apiKey: world.apiKey,
      body: { name: 'A space that is deleted' },
    });
    const spaceId = made.body.data.id as string;
    const serverId = await registerServer('personal', spaceId);
    const handle = await authorize(serverId);
    const deletion = await connect(database.adminUrl);
    const revoked = during(async () => {
      await deletion.query('begin');
      await deletion.query('update spaces set deleted_at = now() where id = $1', [spaceId]);
    });
    const completed = complete(handle);
    await vi.waitFor(async () => expect(await waitingForLocks()).toBe(1), { timeout: 5_000 });
    await deletion.query('commit');
    await deletion.end();
    expect(await completed).toMatchObject({ status: 404, body: { error: { code: 'space_not_found' } } });
    expect(revoked).toEqual([`refresh-code-${count}`]);
    const { rows } = await admin.query('select from mcp_connections where server_id = $1', [serverId]);
    expect(rows).toEqual([]);
  });

  it('are revoked when another authorization server takes their place', async () => {
    const serverId = await registerServer();
    await connectAs(serverId);
    await admin.query(
      `update mcp_connections set issuer = 'https://login.before.example.com' where server_id = $1`,
      [serverId],
    );
    await connectAs(serverId);
    expect(await connectionOf(serverId)).toMatchObject({ status: 'connected' });
    const { rows } = await admin.query(
      'select status from mcp_connections where server_id = $1 order by withdrawn_at nulls first',
      [serverId],
    );
    expect(rows).toEqual([{ status: 'connected' }, { status: 'revoked' }]);
    expect(await eventsOf(serverId)).toContain('revoked replaced');
    await admin.query('delete from mcp_connections where server_id = $1', [serverId]);
  });
});

describe('a scope that the authorization server does not know', () => {
  it('is asked for no more', async () => {
    const serverId = await registerServer();
    await connectAs(serverId);
    await admin.query(
      `update mcp_connections set required_scope = 'nonsense', status = 'scope_required' where server_id = $1`,
      [serverId],
    );
    const popup = new Popup(gateway);
    const address = await popup.decide((await initiate(serverId)).body.data.popup_url, 'continue');
    expect(address.searchParams.get('scope')).toContain('nonsense');
    await popup.comeBack({ state: address.searchParams.get('state')!, error: 'invalid_scope' });
    const again = await popup.decide((await initiate(serverId)).body.data.popup_url, 'continue');
    expect(again.searchParams.get('scope')).not.toContain('nonsense');
  });
});

describe('scopes that were granted', () => {
  it('are asked for again at the same authorization server, and not where another one has taken its place', async () => {
    const serverId = await registerServer();
    await connectAs(serverId);
    const asked = async () => {
      const popup = new Popup(gateway);
      const address = await popup.decide((await initiate(serverId)).body.data.popup_url, 'continue');
      return address.searchParams.get('scope')!.split(' ');
    };
    const change = (set: string) =>
      admin.query(`update mcp_connections set ${set} where server_id = $1`, [serverId]);
    await change(`granted_scope = 'tools.read granted', required_scope = 'required'`);
    expect((await asked()).sort()).toEqual(['granted', 'required', 'tools.read']);
    await change(`issuer = 'https://login.before.example.com'`);
    expect((await asked()).sort()).toEqual(['required', 'tools.read']);
  });
});

describe('attempts', () => {
  it('are limited for each person and server, and keep nothing of the authorization server when they have ended', async () => {
    const serverId = await registerServer();
    const { apiKey } = await editor();
    for (let attempt = 0; attempt < 20; attempt += 1) {
      expect((await initiate(serverId, apiKey)).status).toBe(200);
    }
    expect(await initiate(serverId, apiKey)).toMatchObject({
      status: 429,
      body: { error: { code: 'rate_limited' } },
    });
    expect(await initiate(serverId)).toMatchObject({ status: 200 });
    const { rows } = await admin.query<{ stage: string; kept: boolean }>(
      `select distinct stage, target <> '{}' as kept from authorization_attempts where server_id = $1 order by 1`,
      [serverId],
    );
    expect(rows).toEqual([
      { stage: 'begun', kept: true },
      { stage: 'ended', kept: false },
    ]);
  });
});

describe('the wait for an authorization server', () => {
  it('is as long as discovery and registration may take', async () => {
    const { authorizationPlaces } = gateway.gateway;
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      let ended = false;
      const { signal } = new AbortController();
      const begun = authorizationPlaces
        .run(world.tenantId, signal, () => new Promise<string>(() => undefined), 'late')
        .finally(() => (ended = true));
      await vi.advanceTimersByTimeAsync(discoveryMs + requestMs - 1);
      expect(ended).toBe(false);
      await vi.advanceTimersByTimeAsync(1);
      expect(await begun).toBe('late');
    } finally {
      vi.useRealTimers();
    }
    expect(leaseMs).toBeGreaterThan(requestMs);
  });
});

describe('a scope for refresh tokens', () => {
  it('is shown to the person where it is asked for', async () => {
    const serverId = await registerServer();
    const { authorizationServers } = gateway.gateway;
    const original = { ...authorizationServers };
    authorizationServers.discover = async (...asked) => {
      const target = await original.discover(...asked);
      return { ...target, metadata: { ...target.metadata, scopes_supported: ['offline_access'] } };
    };
    const { popup_url: url } = (await initiate(serverId)).body.data;
    Object.assign(authorizationServers, original);
    const popup = new Popup(gateway);
    const page = await popup.open(url);
    expect(page.text).toContain('<code>offline_access</code>');
    const address = await popup.decide(url, 'continue');
    expect(address.searchParams.get('scope')).toBe('tools.read offline_access');
  });
});

describe('several popups', () => {
  it('are open in one browser at once, and each end names its server', async () => {
    const servers = [await registerServer(), await registerServer()];
    const popup = new Popup(gateway);
    const begun = await Promise.all(servers.map((id) => initiate(id)));
    const pages = await Promise.all(begun.map(({ body }) => popup.open(body.data.popup_url)));
    const handles: string[] = [];
    for (const at of [1, 0]) {
      const answer = await popup.answer(pages[at]!.text, 'continue');
      const state = new URL(answer.headers['location']!).searchParams.get('state')!;
      const end = new URL((await popup.comeBack({ state, code: `code-${at}` })).headers['location']!);
      expect(end.searchParams.get('server_id')).toBe(servers[at]);
      handles.push(end.searchParams.get('handle')!);
    }
    for (const handle of handles) expect(await complete(handle)).toMatchObject({ status: 200 });
    for (const id of servers) expect(await connectionOf(id)).toMatchObject({ status: 'connected' });
  });
});

describe('a popup that has ended', () => {
  it.each([
    ['', 'Signed in', 'finishes the connection now'],
    ['?error=denied', 'Not connected', 'Access was denied'],
    ['?error=constructor', 'Not connected', 'The account was not connected.'],
    [`?error=${encodeURIComponent('<b>Call 555')}`, 'Not connected', 'The account was not connected.'],
  ])('(%s) says what is true on a page', async (query, title, text) => {
    const page = await new Popup(gateway).open(`/api/v1/mcp-auth/done${query}`);
    expect(page.status).toBe(200);
    expect(page.text).toContain(`<h1>${title}</h1>`);
    expect(page.text).toContain(text);
    expect(page.text).not.toContain('555');
  });

  it('is a page for people also where the request is wrong, and an error body for other clients', async () => {
    const popup = new Popup(gateway);
    expect(await popup.open('/api/v1/mcp-auth/start?nonce=none')).toMatchObject(over);
    const wrong = await popup.open('/api/v1/mcp-auth/start');
    expect(wrong).toMatchObject({ status: 422, text: expect.stringContaining('<h1>This attempt is over') });
    expect(wrong.headers['content-security-policy']).toContain("form-action 'none'");
    expect(await popup.comeBack({})).toMatchObject(over);
    const path = '/v1/mcp-auth/start?nonce=none';
    expect(await gateway.send({ method: 'GET', path })).toMatchObject(notThere);
  });
});

describe('the limits of popups', () => {
  it('are apart from those of sign-ins, and those of callbacks apart from those of pages', async () => {
    const narrow = await openGateway(database, { MAX_POPUP_REQUESTS: '2', MAX_LOGIN_STARTS: '1' });
    try {
      const popup = new Popup(narrow);
      const login = () => narrow.send({ method: 'GET', path: '/v1/auth/oidc/none/start' });
      await login();
      expect(await login()).toMatchObject({ status: 429 });
      const open = () => popup.open('/api/v1/mcp-auth/start?nonce=none');
      expect([await open(), await open(), await open()]).toMatchObject([
        over,
        over,
        { status: 429, text: expect.stringContaining('<h1>Too many attempts</h1>') },
      ]);
      const back = () => popup.comeBack({ state: 'none' });
      expect([await back(), await back(), await back()]).toMatchObject([over, over, { status: 429 }]);
    } finally {
      await narrow.close();
    }
  });
});

describe('an attack on the popup', () => {
  it('gains nothing from a nonce that another browser has opened, or that was answered', async () => {
    const serverId = await registerServer();
    const { popup_url: url } = (await initiate(serverId)).body.data;
    const popup = new Popup(gateway);
    const page = await popup.open(url);
    expect(await new Popup(gateway).open(url)).toMatchObject(over);
    expect(await new Popup(gateway).answer(page.text, 'continue')).toMatchObject(over);
    expect((await popup.open(url)).status).toBe(200);
    const { csrf } = formIn(page.text).fields;
    const forged = page.text.replace(csrf!, 'forged');
    expect(await popup.answer(forged, 'continue')).toMatchObject(over);
    expect(await popup.open(`${url}&decision=continue&csrf=${csrf}`)).toMatchObject({ status: 422 });
    expect((await popup.answer(page.text, 'continue')).status).toBe(303);
    expect(await popup.open(url)).toMatchObject(over);
    expect(await popup.answer(page.text, 'continue')).toMatchObject(over);
    expect(await popup.open(url.replace('nonce=', 'nonce=x'))).toMatchObject(over);
  });

  it('gains nothing from a state that comes back to another browser', async () => {
    const serverId = await registerServer();
    const popup = new Popup(gateway);
    const address = await popup.decide((await initiate(serverId)).body.data.popup_url, 'continue');
    const state = address.searchParams.get('state')!;
    const other = new Popup(gateway);
    expect(await other.comeBack({ state, code: 'theirs' }, popup.callback)).toMatchObject(over);
    // Its browser has a popup of its own open.
    await other.open((await initiate(await registerServer())).body.data.popup_url);
    expect(other.cookie).not.toBe('');
    expect(await other.comeBack({ state, code: 'theirs' }, popup.callback)).toMatchObject(over);
    other.takeNameOf(popup);
    expect(await other.comeBack({ state, code: 'theirs' }, popup.callback)).toMatchObject(over);
    expect((await popup.comeBack({ state, code: 'mine' })).status).toBe(303);
    expect(await popup.comeBack({ state, code: 'again' })).toMatchObject(over);
    expect(popup.cookie).toBe('');
  });

  it('gains nothing from a handle: it is for the initiator and its key alone, once', async () => {
    const serverId = await registerServer();
    const [ann, ben] = [await editor(), await editor()];
    const handle = await authorize(serverId, ann.apiKey);
    expect(await complete(handle, ben.apiKey)).toMatchObject(notThere);
    expect(await complete(handle, world.apiKey)).toMatchObject(notThere);
    const otherKey = await gateway.send({
      method: 'POST',
      path: '/v1/admin/api-keys',
      apiKey: world.apiKey,
      body: { name: 'another', principal_id: ann.principalId },
    });
    expect(otherKey.status, otherKey.text).toBe(201);
    expect(await complete(handle, otherKey.body.data.api_key)).toMatchObject(notThere);
    expect(await complete(handle, (await createWorld(database.unitOfWork)).apiKey)).toMatchObject(notThere);
    expect(await complete(handle, ann.apiKey)).toMatchObject({ status: 200 });
    expect(await complete(handle, ann.apiKey)).toMatchObject(notThere);
    expect(await connectionOf(serverId, ben.apiKey)).toMatchObject({ status: 'auth_required' });
  });

  it('gains nothing from a handle in another session of the initiator, or with a key of theirs', async () => {
    const serverId = await registerServer();
    const ann = await editor();
    const place = { ...world, apiKey: world.apiKey, modelAlias: '' };
    const maker = new SignInMaker(new Maker(() => gateway));
    const [one, another] = [
      await maker.session(place, ann.principalId),
      await maker.session(place, ann.principalId),
    ];
    const as = (token: string, path: string, body?: object) =>
      gateway.send({
        method: 'POST',
        path,
        headers: { authorization: `Bearer ${token}` },
        ...(body && { body }),
      });
    const begun = await as(
      one.accessToken,
      `/v1/mcp-auth/${serverId}/initiate?redirect_uri=${encodeURIComponent(done)}`,
    );
    expect(begun.status, begun.text).toBe(200);
    const popup = new Popup(gateway);
    const address = await popup.decide(begun.body.data.popup_url, 'continue');
    const back = await popup.comeBack({ state: address.searchParams.get('state')!, code: 'code' });
    const handle = new URL(back.headers['location']!).searchParams.get('handle')!;
    const completeAs = (token: string) => as(token, '/v1/mcp-auth/complete', { handle });
    expect(await completeAs(another.accessToken)).toMatchObject(notThere);
    expect(await complete(handle, ann.apiKey)).toMatchObject(notThere);
    expect(await completeAs(one.accessToken)).toMatchObject({ status: 200 });
  });

  it('gains nothing from the answer of another issuer', async () => {
    const serverId = await registerServer();
    const popup = new Popup(gateway);
    const address = await popup.decide((await initiate(serverId)).body.data.popup_url, 'continue');
    const state = address.searchParams.get('state')!;
    const back = await popup.comeBack({
      state,
      code: 'mixed-up',
      iss: 'https://evil.example.com',
      error: 'access_denied',
    });
    expect(new URL(back.headers['location']!).searchParams.get('error')).toBe('issuer_mismatch');
    expect(await eventsOf(serverId)).toEqual(['started', 'failed issuer_mismatch']);
  });

  it('gains nothing from a code that arrives at the callback of another issuer', async () => {
    const serverId = await registerServer();
    for (const callback of [callbackUri(own, 'https://evil.example.com'), callbackAt(own, null)]) {
      const popup = new Popup(gateway);
      const address = await popup.decide((await initiate(serverId)).body.data.popup_url, 'continue');
      const state = address.searchParams.get('state')!;
      const back = await popup.comeBack({ state, code: 'mixed-up' }, callback);
      expect(new URL(back.headers['location']!).searchParams.get('error')).toBe('issuer_mismatch');
      expect(await popup.comeBack({ state, code: 'mixed-up' })).toMatchObject(over);
    }
  });

  it('gains nothing from a handle that is older than a minute, or a popup older than ten', async () => {
    const serverId = await registerServer();
    const handle = await authorize(serverId);
    await admin.query(`update authorization_attempts set handle_expires_at = now() where server_id = $1`, [
      serverId,
    ]);
    expect(await complete(handle)).toMatchObject(notThere);
    const { popup_url: url } = (await initiate(serverId)).body.data;
    await admin.query(`update authorization_attempts set expires_at = now() where server_id = $1`, [
      serverId,
    ]);
    expect(await new Popup(gateway).open(url)).toMatchObject(over);
  });
});

describe('what an attempt and a connection leave in the database', () => {
  it('is nowhere a code, a token, or what the popup carries', async () => {
    const dump = async () => {
      const { rows: tables } = await admin.query<{ name: string }>(
        `select c.oid::regclass::text as name from pg_class c
         where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')`,
      );
      const texts = tables.map(async ({ name }) => {
        const query = `select coalesce(string_agg(t::text, ' '), '') as text from ${name} t`;
        return (await admin.query<{ text: string }>(query)).rows[0]!.text;
      });
      return (await Promise.all(texts)).join(' ');
    };
    const serverId = await registerServer();
    const popup = new Popup(gateway);
    const { popup_url: url } = (await initiate(serverId)).body.data;
    const address = await popup.decide(url, 'continue');
    const state = address.searchParams.get('state')!;
    const nonce = new URL(url).searchParams.get('nonce')!;
    const back = await popup.comeBack({ state, code: 'canary' });
    const handle = new URL(back.headers['location']!).searchParams.get('handle')!;
    const cookie = popup.cookie.split('=')[1]!;
    const secret = ['canary', state, nonce, nonce.split('.')[0]!, handle, cookie];
    const during = await dump();
    expect(during).toContain(serverId);
    expect(secret.filter((each) => during.includes(each))).toEqual([]);
    expect(await complete(handle)).toMatchObject({ status: 200 });
    const after = await dump();
    expect(secret.filter((each) => after.includes(each))).toEqual([]);
  });
});

describe('the platform as a client', () => {
  it('is described at the address that is its client id', async () => {
    const issuer = 'https://login.example.com';
    for (const key of [issuerKey(issuer), null]) {
      const id = clientDocumentUrl(own, key);
      const path = id.slice(own.apiUrl.length);
      expect((await gateway.send({ method: 'GET', path })).body).toMatchObject({
        client_id: id,
        redirect_uris: [key === null ? callbackAt(own, null) : callbackUri(own, issuer)],
        token_endpoint_auth_method: 'none',
      });
    }
    const path = '/v1/mcp-auth/clients/no-key/client.json';
    expect(await gateway.send({ method: 'GET', path })).toMatchObject({ status: 422 });
  });

  it('is known by the address at which its documents are published now', async () => {
    const issuer = 'https://documents.example.com';
    const endpoints = { authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` };
    const target = { tenantId: world.tenantId, issuer, acceptsClientDocuments: true, metadata: endpoints };
    const { authorizationServers } = gateway.gateway;
    const choose = (clientDocumentUrl: string | null) =>
      chooseClient(
        { ...database, secrets, authorizationServers },
        { ...own, clientDocumentUrl },
        target as unknown as AuthorizationTarget,
        { scope: null, signal: AbortSignal.timeout(5_000) },
      );
    const before = await choose(null);
    expect(await choose(null)).toBe(before);
    const elsewhere = 'https://apps.example.com/{issuer}.json';
    const after = await choose(elsewhere);
    expect(await choose(elsewhere)).toBe(after);
    const { rows } = await admin.query(
      'select id, client_id, rejected_at is null as used from authorization_clients where issuer = $1 order by id',
      [issuer],
    );
    const key = issuerKey(issuer);
    expect(rows).toEqual([
      { id: before, client_id: clientDocumentUrl(own, key), used: false },
      { id: after, client_id: `https://apps.example.com/${key}.json`, used: true },
    ]);
  });

  it('registers once at an authorization server, and again when it was refused there', async () => {
    const clients = async () =>
      (
        await admin.query<{ n: number }>(
          'select count(*)::int as n from authorization_clients where tenant_id = $1',
          [world.tenantId],
        )
      ).rows[0]!.n;
    const before = await clients();
    await initiate(await registerServer());
    await initiate(await registerServer());
    expect(await clients()).toBe(Math.max(before, 1));
    await admin.query('update authorization_clients set rejected_at = now() where tenant_id = $1', [
      world.tenantId,
    ]);
    await initiate(await registerServer());
    expect(await clients()).toBe(Math.max(before, 1) + 1);
    expect(await initiate(await registerServer(), world.apiKey, `${done}&register_again=true`)).toMatchObject(
      {
        status: 403,
      },
    );
  });

  it('registers again for scopes that its registration does not name, and goes on with it where that is refused', async () => {
    const issuer = 'https://scopes.example.com';
    const endpoints = { authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` };
    const target = { tenantId: world.tenantId, issuer, registersClients: true, metadata: endpoints };
    const sent: (string | null)[] = [];
    let isRefused = false;
    const register: AuthorizationServers['register'] = async (_target, { scope }) => {
      sent.push(scope);
      if (isRefused) throw new AuthorizationFailure('client_required', { sent: true });
      const none = { clientSecret: null, privateKey: null, secretExpiresAt: null };
      return { clientId: `client-${sent.length}`, authMethod: 'none', ...none, scope: scope ?? '' };
    };
    const authorizationServers = { ...gateway.gateway.authorizationServers, register };
    const choose = (scope: string | null, registers = true) =>
      chooseClient(
        { ...database, secrets, authorizationServers },
        own,
        { ...target, registersClients: registers } as unknown as AuthorizationTarget,
        { scope, signal: AbortSignal.timeout(5_000) },
      );
    const first = await choose(null);
    expect(await choose(null)).toBe(first);
    const second = await choose('read write');
    expect(await choose('write')).toBe(second);
    const third = await choose('admin read');
    expect(new Set([first, second, third]).size).toBe(3);
    expect([await choose('write admin'), await choose(null)]).toEqual([third, third]);
    expect(sent).toEqual([null, 'read write', 'admin read write']);
    expect(await choose('other', false)).toBe(third);
    isRefused = true;
    expect(await choose('other')).toBe(third);
    expect(sent.at(-1)).toBe('other admin read write');
    await admin.query('update authorization_clients set scope = null where id = $1', [third]);
    expect(await choose('another')).toBe(third);
    expect(sent).toHaveLength(4);
    await admin.query('update authorization_clients set rejected_at = now() where id = $1', [third]);
  });

  describe('of which several connections need different scopes', () => {
    const clientsAt = (issuer: string, register: AuthorizationServers['register']) => {
      const endpoints = { authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` };
      const target = { tenantId: world.tenantId, issuer, registersClients: true, metadata: endpoints };
      const authorizationServers = { ...gateway.gateway.authorizationServers, register };
      return (scope: string, registersAgain = false) =>
        chooseClient(
          { ...database, secrets, authorizationServers },
          own,
          target as unknown as AuthorizationTarget,
          { scope, registersAgain, signal: AbortSignal.timeout(5_000) },
        );
    };
    const none = { authMethod: 'none', clientSecret: null, privateKey: null, secretExpiresAt: null } as const;
    afterEach(() =>
      admin.query('update authorization_clients set rejected_at = now() where rejected_at is null'),
    );

    it('is registered for those of each that begin at the same time', async () => {
      const sent: (string | null)[] = [];
      const choose = clientsAt('https://together.example.com', async (_target, { scope }) => {
        sent.push(scope);
        if (sent.length === 1) await choose('write');
        return { clientId: `together-${sent.length}`, ...none, scope };
      });
      const chosen = await choose('read');
      expect(sent).toEqual(['read', 'write', 'read write']);
      const { rows } = await admin.query('select scope from authorization_clients where id = $1', [chosen]);
      expect(rows).toEqual([{ scope: 'read write' }]);
    });

    it('keeps its registration where the server would take fewer scopes, unless that is to be replaced', async () => {
      const sent: boolean[] = [];
      let isRefused = false;
      const choose = clientsAt('https://fewer.example.com', async (_target, { scope, mayLackScopes }) => {
        sent.push(mayLackScopes);
        if (isRefused) throw new AuthorizationFailure('client_required', { sent: true });
        return { clientId: `fewer-${sent.length}`, ...none, scope };
      });
      const first = await choose('read');
      isRefused = true;
      expect(await choose('write')).toBe(first);
      await expect(choose('write', true)).rejects.toMatchObject({ code: 'client_required' });
      expect(sent).toEqual([true, false, true]);
    });
  });

  it('registers again for callers that may change servers, and keeps its registration until the next one is there', async () => {
    const serverId = await registerServer();
    await initiate(serverId);
    const usable = async () =>
      (
        await admin.query<{ id: string }>(
          'select id from authorization_clients where tenant_id = $1 and rejected_at is null',
          [world.tenantId],
        )
      ).rows;
    const again = (apiKey = world.apiKey) =>
      gateway.send({
        method: 'POST',
        path: `/v1/mcp-auth/${serverId}/initiate?register_again=true&redirect_uri=${encodeURIComponent(done)}`,
        apiKey,
      });
    const [first] = await usable();
    expect(await again((await editor()).apiKey)).toMatchObject({
      status: 403,
      body: { error: { missing_permission: 'mcp_servers.update' } },
    });
    expect(await again()).toMatchObject({ status: 429, body: { error: { code: 'rate_limited' } } });
    await admin.query(`update authorization_clients set created_at = now() - interval '2 minutes'`);
    const { authorizationServers } = gateway.gateway;
    const original = { ...authorizationServers };
    authorizationServers.register = () =>
      Promise.reject(new AuthorizationFailure('unreachable', { sent: true }));
    expect(await again()).toMatchObject({ status: 409 });
    expect(await usable()).toEqual([first]);
    Object.assign(authorizationServers, original);
    expect(await again()).toMatchObject({ status: 200 });
    const [second, ...others] = await usable();
    expect(others).toEqual([]);
    expect(second).not.toEqual(first);
  });
});
