import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { finishSync } from '#activities/connectors/finish-sync.ts';
import { useConnections } from '#domain/capabilities/connection-tokens/use-connections.ts';
import {
  AuthorizationFailure,
  type IssuedTokens,
} from '#domain/capabilities/connections/authorization-servers.ts';
import { ConnectionUnavailable } from '#domain/capabilities/connections/connection-source.ts';
import { openConnection } from '#domain/capabilities/connections/connection-state.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { planRun } from '#domain/knowledge/connectors/plan-run.ts';
import type { FinishSyncInput } from '#workflows/sync-connector/messages.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventTypesOf } from '../support/event-log.ts';
import { openGateway, type Answer, type TestGateway } from '../support/gateway.ts';
import { createPlaces, Maker, type Place } from '../support/places.ts';
import { Popup } from '../support/popup.ts';
import { MemorySource } from '../support/sources/memory-source.ts';
import { connect as connectTo } from '../support/tables.ts';
import { addMember, secrets, type World } from '../support/world.ts';

const done = 'http://127.0.0.1:8080/api/v1/mcp-auth/done';
const origin = 'https://tools.example.com';
const other = 'https://files.example.com';
const tokenUrl = 'https://login.example.com/token';

let database: TestDatabase;
let gateway: TestGateway;
let admin: Client;
let here: Place;
let world: World;
let collectionId: string;
const maker = new Maker(() => gateway);
const memory = new Map([['files', new MemorySource()]]);

beforeAll(async () => {
  database = await createTestDatabase();
  admin = await connectTo(database.adminUrl);
  gateway = await openGateway(database, { CONNECTOR_ROOTS: 'files=/nonexistent' }, undefined, memory);
  ({ here, world } = await createPlaces(database));
  collectionId = await maker.collection(here);
});
afterAll(async () => {
  await gateway?.close();
  await admin?.end();
  await database?.drop();
});

const call = (method: string, path: string, body?: object): Promise<Answer> =>
  gateway.send({ method, path: `/v1${path}`, apiKey: here.apiKey, ...(body && { body }) });
const send = (method: string, path = '', body?: object): Promise<Answer> =>
  call(method, `/spaces/${here.spaceId}/collections/${collectionId}/connectors${path}`, body);
const store = async (more: object = {}): Promise<string> => {
  const client = { client_id: 'c', client_secret: 's', token_url: tokenUrl };
  const body = { name: newId(), kind: 'oauth2_client', origin, value: client, ...more };
  const made = await call('POST', `/spaces/${here.spaceId}/credentials`, body);
  expect(made.status, made.text).toBe(201);
  return made.body.data.id as string;
};
const body = (more: object = {}) => ({
  provider_slug: 'memory',
  scope_config: { name: 'files', origin },
  ...more,
});
async function create(more: object = {}): Promise<string> {
  const made = await send('POST', '', body({ client_credential_id: await store(), ...more }));
  expect(made.status, made.text).toBe(201);
  return made.body.data.id as string;
}
const initiate = (id: string, redirectUri = done) =>
  send('POST', `/${id}/connection/initiate?redirect_uri=${encodeURIComponent(redirectUri)}`);
const complete = (handle: string) => call('POST', '/mcp-auth/complete', { handle });

async function authorize(id: string): Promise<string> {
  const popup = new Popup(gateway);
  const { popup_url: url } = (await initiate(id)).body.data;
  expect((await popup.open(url)).text).toMatch(/The source <b>[^<]+<\/b> \(<code>tools.example.com/);
  const address = await popup.decide(url, 'continue');
  const state = address.searchParams.get('state')!;
  const back = await popup.comeBack({ state, code: `code-${id}` });
  return new URL(back.headers['location']!).searchParams.get('handle')!;
}
async function connect(id: string): Promise<void> {
  const completed = await complete(await authorize(id));
  expect(completed.status, completed.text).toBe(200);
}
const stateOf = async (id: string) => ({
  status: (await send('GET', `/${id}`)).body.data.status as string,
  connection: (await send('GET', `/${id}/connection`)).body.data?.status as string | undefined,
  runs: ((await send('GET', `/${id}/sync`)).body.data as { status: string }[]).map(({ status }) => status),
});
const tokensOf = async (id: string) =>
  (await admin.query('select 1 from mcp_connections where connector_id = $1 and withdrawn_at is null', [id]))
    .rowCount;
const refusal = (status: number, code: string, more: object = {}) => ({
  status,
  body: { error: { code, ...more } },
});

it('an attempt is completed with the permission for what it is of, and an unknown one says nothing of any', async () => {
  const id = await create();
  const handle = await authorize(id);
  const viewer = await addMember(database.unitOfWork, world, { spaceRole: 'space_viewer' });
  const completeAs = (given: string) =>
    gateway.send({ ...completion, apiKey: viewer.apiKey, body: { handle: given } });
  const completion = { method: 'POST', path: '/v1/mcp-auth/complete' };
  expect(await completeAs(handle)).toMatchObject(
    refusal(403, 'missing_permission', { missing_permission: 'connectors.update' }),
  );
  await admin.query('update authorization_attempts set handle_expires_at = now() where connector_id = $1', [
    id,
  ]);
  for (const given of [handle, `mh.${'x'.repeat(43)}`]) {
    expect(await completeAs(given)).toMatchObject(refusal(404, 'authorization_attempt_not_found'));
  }
});

describe('a connector with the client of a vendor’s app', () => {
  it('is refused for a client that could not be used, with the token endpoint that it must have', async () => {
    const param = 'client_credential_id';
    const refused = async (more: object) => send('POST', '', body(more));
    const badClients = [
      await store({ origin: other }),
      await store({ kind: 'bearer', value: { token: 'tk-stored' } }),
      newId(),
    ];
    for (const id of badClients) {
      expect(await refused({ client_credential_id: id })).toMatchObject(
        refusal(422, 'invalid_request', { param }),
      );
    }
    const value = { client_id: 'c', client_secret: 's', token_url: `${other}/token` };
    const elsewhere = await refused({ client_credential_id: await store({ value }) });
    expect(elsewhere).toMatchObject(refusal(422, 'invalid_request', { param }));
    expect(elsewhere.body.error.message).toContain(tokenUrl);
    const both = { client_credential_id: await store(), credential_id: await maker.credential(here) };
    expect(await refused(both)).toMatchObject(refusal(422, 'invalid_request', { param }));
    const client_credential_id = await store();
    const folder = { provider_slug: 'filesystem', scope_config: { root: 'files' }, client_credential_id };
    expect(await refused(folder)).toMatchObject(refusal(422, 'invalid_request', { param }));
  });

  it('waits for its account, and cannot be read or connected in another way', async () => {
    const id = await create();
    expect(await stateOf(id)).toEqual({ status: 'auth_required', connection: 'auth_required', runs: [] });
    expect(await send('POST', `/${id}/sync`, {})).toMatchObject(refusal(409, 'invalid_state'));
    expect(await initiate(id, 'https://elsewhere.example.com')).toMatchObject(
      refusal(403, 'redirect_uri_not_allowed'),
    );
    const plain = (await send('POST', '', body())).body.data.id as string;
    expect(await initiate(plain)).toMatchObject(refusal(409, 'invalid_state'));
    expect(await send('GET', `/${plain}/connection`)).toMatchObject(refusal(409, 'invalid_state'));
    expect(await send('DELETE', `/${plain}/connection`)).toMatchObject(refusal(409, 'invalid_state'));
  });

  it('has its first run queued as soon as the account is connected, once', async () => {
    const id = await create();
    expect((await initiate(id)).status).toBe(200);
    expect((await stateOf(id)).connection).toBe('pending');
    const completed = await complete(await authorize(id));
    expect(completed.body.data).toMatchObject({
      connector_id: id,
      server_id: null,
      owner: 'shared',
      status: 'connected',
      issuer: 'https://login.example.com',
    });
    expect(await stateOf(id)).toEqual({ status: 'active', connection: 'connected', runs: ['queued'] });
    await connect(id);
    expect(await stateOf(id)).toMatchObject({ connection: 'connected', runs: ['queued', 'cancelled'] });
    expect(await tokensOf(id)).toBe(1);
    expect(await eventTypesOf(admin, id)).toEqual(
      expect.arrayContaining([
        'security.mcp_auth_started',
        'security.mcp_auth_granted',
        'collection.connector_resumed',
      ]),
    );
  });

  describe('whose account is connected again', () => {
    const plan = (id: string) => database.unitOfWork.inTenant(here.tenantId, (em) => planRun(em, id));
    const finish = (connectorId: string, runId: string, end: Partial<FinishSyncInput>) =>
      finishSync(database, { tenantId: here.tenantId, connectorId, runId, end: 'done', ...end });
    async function running(id: string): Promise<string> {
      const next = await plan(id);
      if (next.is !== 'run') throw new Error(`The connector is ${next.is}.`);
      return next.runId;
    }
    const set = (what: string, id: string) => admin.query(`update ${what}`, [id]);
    const checkpointOf = async (id: string) =>
      (await admin.query('select checkpoint from connectors where id = $1', [id])).rows[0].checkpoint;

    it('lists everything of it, and keeps nothing of a run of the account before', async () => {
      const id = await create();
      await connect(id);
      await set(`connectors set checkpoint = 'of-ann' where id = $1`, id);
      const before = await running(id);
      await set(`sync_runs set is_listed = true, cursor_to = 'of-ann' where id = $1`, before);
      await connect(id);
      expect(await checkpointOf(id)).toBeNull();
      expect(await finish(id, before, {})).toMatchObject({ status: 'cancelled' });
      expect(await checkpointOf(id)).toBeNull();
      const after = await running(id);
      const { rows } = await admin.query('select cursor_from from sync_runs where id = $1', [after]);
      expect(rows).toEqual([{ cursor_from: null }]);
      await set(`connectors set checkpoint = 'of-ben' where id = $1`, id);
      await send('PATCH', `/${id}`, { client_credential_id: await store() });
      expect(await checkpointOf(id)).toBeNull();
    });

    it('is not stopped by a run that failed with the account before', async () => {
      const id = await create();
      await connect(id);
      const before = await running(id);
      await connect(id);
      const failed = { end: 'failed', errorCode: 'auth_failed' } as const;
      expect(await finish(id, before, failed)).toMatchObject({ status: 'cancelled' });
      expect(await stateOf(id)).toEqual({
        status: 'active',
        connection: 'connected',
        runs: ['queued', 'cancelled'],
      });
    });
  });

  it('stays paused when it is connected, and runs on request only where its schedule says so', async () => {
    const paused = await create();
    expect((await send('PATCH', `/${paused}`, { status: 'paused' })).status).toBe(200);
    await connect(paused);
    expect(await stateOf(paused)).toEqual({ status: 'paused', connection: 'connected', runs: [] });
    const manual = await create({ sync_schedule: { type: 'manual' } });
    await connect(manual);
    expect(await stateOf(manual)).toEqual({ status: 'active', connection: 'connected', runs: [] });
  });

  it('asks for its account again where client or origin change, and a handle of before connects nothing', async () => {
    const id = await create();
    await connect(id);
    const handle = await authorize(id);
    const changed = await send('PATCH', `/${id}`, { client_credential_id: await store() });
    expect(changed.body.data, changed.text).toMatchObject({ status: 'auth_required' });
    expect(await stateOf(id)).toEqual({
      status: 'auth_required',
      connection: 'auth_required',
      runs: ['cancelled'],
    });
    expect(await tokensOf(id)).toBe(0);
    expect(await complete(handle)).toMatchObject(refusal(404, 'authorization_attempt_not_found'));

    await connect(id);
    const scope = { scope_config: { name: 'files', origin: other } };
    expect(await send('PATCH', `/${id}`, scope)).toMatchObject(refusal(422, 'invalid_request'));
    expect(await tokensOf(id)).toBe(1);
    const moved = { ...scope, client_credential_id: await store({ origin: other }) };
    expect((await send('PATCH', `/${id}`, moved)).body.data).toMatchObject({ status: 'auth_required' });
    expect(await tokensOf(id)).toBe(0);
  });

  it('has tokens for the origin of its source, and for no other', async () => {
    const id = await create();
    await connect(id);
    const { tenantId } = here;
    const opened = (at: string) =>
      database.unitOfWork.inTenant(tenantId, (em) =>
        openConnection({ em, secrets }, { connectorId: id, origin: at }),
      );
    expect((await opened(origin))?.tokens.accessToken).toBe(`access-code-${id}`);
    expect(await opened(other)).toBeNull();
  });

  it('waits for another try, not for a person, when its token was refused to be refreshed in an odd way', async () => {
    const id = await create();
    await connect(id);
    await admin.query('update mcp_connections set expires_at = now() where connector_id = $1', [id]);
    let answer = (): Promise<IssuedTokens> =>
      Promise.reject(new AuthorizationFailure('protocol_error', { sent: true, answered: true }));
    const { unitOfWork } = database;
    const authorizationServers = { ...gateway.gateway.authorizationServers, refresh: () => answer() };
    const connections = useConnections({ unitOfWork, secrets, authorizationServers });
    const read = () => connections.read({ tenantId: here.tenantId, connectorId: id, origin });
    await expect(read()).rejects.toThrow(ConnectionUnavailable);
    await expect(read()).rejects.toThrow('refresh_paused');
    expect((await stateOf(id)).connection).toBe('connected');
    await admin.query('update mcp_connections set refresh_after = now() where connector_id = $1', [id]);
    const issued = { accessToken: 'access-2', tokenType: 'Bearer', refreshToken: null, scope: null } as const;
    answer = () => Promise.resolve({ ...issued, expiresAt: new Date(Date.now() + 3_600_000) });
    expect(await read()).toMatchObject({ accessToken: 'access-2' });
  });

  it('keeps its account when only other settings change', async () => {
    const id = await create();
    await connect(id);
    const scope = { scope_config: { name: 'files', origin, note: 'changed' } };
    expect((await send('PATCH', `/${id}`, scope)).body.data).toMatchObject({ status: 'active' });
    expect(await tokensOf(id)).toBe(1);
  });

  it('loses its account to a credential, to a disconnection and with itself', async () => {
    const [keyed, cut, gone] = [await create(), await create(), await create()];
    for (const id of [keyed, cut, gone]) await connect(id);
    const credential = { client_credential_id: null, credential_id: await maker.credential(here) };
    expect((await send('PATCH', `/${keyed}`, credential)).body.data).toMatchObject({ status: 'active' });
    expect(await stateOf(keyed)).toMatchObject({ status: 'active', runs: ['queued', 'cancelled'] });
    expect((await send('DELETE', `/${cut}/connection`)).status).toBe(200);
    expect(await stateOf(cut)).toMatchObject({ status: 'auth_required', runs: ['cancelled'] });
    expect((await send('DELETE', `/${gone}`)).status).toBe(202);
    for (const id of [keyed, cut, gone]) expect(await tokensOf(id)).toBe(0);
    expect(await eventTypesOf(admin, gone)).toContain('security.mcp_auth_revoked');
  });

  it('keeps the client from being deleted', async () => {
    const client = await store();
    const id = await create({ client_credential_id: client });
    const path = `/spaces/${here.spaceId}/credentials/${client}`;
    expect(await call('DELETE', path)).toMatchObject(
      refusal(409, 'credential_in_use', { used_by: [{ type: 'connector', id }] }),
    );
  });
});
