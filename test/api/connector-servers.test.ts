import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openGateway, type Answer, type TestGateway } from '../support/gateway.ts';
import { createPlaces, Maker, type Place } from '../support/places.ts';
import { startMcpSource, type McpSourceServer } from '../support/sources/mcp-server.ts';
import { connect } from '../support/tables.ts';
import { addMember, type World } from '../support/world.ts';

let database: TestDatabase;
let gateway: TestGateway;
let admin: Client;
let world: World;
let here: Place;
let neighbour: Place;
let abroad: Place;
let collectionId: string;
let source: McpSourceServer;
const maker = new Maker(() => gateway);

beforeAll(async () => {
  database = await createTestDatabase();
  admin = await connect(database.adminUrl);
  source = await startMcpSource();
  gateway = await openGateway(database, { EGRESS_ALLOW: source.origin });
  ({ world, here, neighbour, abroad } = await createPlaces(database));
  collectionId = await maker.collection(here);
});
afterAll(async () => {
  await gateway?.close();
  await source?.close();
  await admin?.end();
  await database?.drop();
});

const send = (method: string, path: string, body?: object, apiKey = here.apiKey): Promise<Answer> =>
  gateway.send({
    method,
    path: `/v1/spaces/${here.spaceId}/${path}`,
    apiKey,
    ...(body && { body }),
  });
const connectors = () => `collections/${collectionId}/connectors`;
const reading = (serverId: string, more: object = {}) => ({
  provider_slug: 'mcp',
  scope_config: { server_id: serverId },
  ...more,
});
const refusal = (status: number, code: string, more: object = {}) => ({
  status,
  body: { error: { code, ...more } },
});
const ofServer = (message: string | RegExp) =>
  refusal(422, 'invalid_request', {
    param: 'scope_config.server_id',
    message: expect.stringMatching(message) as string,
    errors: [expect.objectContaining({ pointer: '/scope_config/server_id' })],
  });

async function register(more: object = {}): Promise<string> {
  const slug = `s-${newId().slice(-12)}`;
  const body = { slug, display_name: 'Docs', url: source.scopeConfig['url'], ...more };
  const made = await send('POST', 'mcp-servers', body);
  expect(made.status, made.text).toBe(201);
  return made.body.data.mcp_server_config_id as string;
}

async function storedCredential(): Promise<string> {
  const { origin, value } = source.credential!;
  const { kind, ...members } = value;
  const made = await send('POST', 'credentials', { name: newId(), kind, origin, value: members });
  return made.body.data.id as string;
}

async function serverOf(connectorId: string): Promise<string | null> {
  const { rows } = await admin.query('select server_id from connectors where id = $1', [connectorId]);
  return (rows as { server_id: string | null }[])[0]!.server_id;
}

describe('a connector of a connected tool server', () => {
  it('names the server alone, and is read with the address and the credential of the server', async () => {
    const server = await register({ credential_id: await storedCredential() });
    const checked = await send('POST', `${connectors()}/check`, reading(server));
    expect(checked.body.data).toEqual({ ok: true, code: null, message: null });
    const made = await send('POST', connectors(), reading(server.toUpperCase()));
    expect(made).toMatchObject({
      status: 201,
      body: {
        data: {
          scope_config: { server_id: server, uri_patterns: [], max_documents: 10_000 },
          credential_id: null,
          client_credential_id: null,
        },
      },
    });
    expect(await serverOf(made.body.data.id)).toBe(server);
  });

  it('follows the server: without its credential the source refuses it', async () => {
    const server = await register({ credential_id: await storedCredential() });
    const check = async () => (await send('POST', `${connectors()}/check`, reading(server))).body.data;
    expect(await check()).toMatchObject({ ok: true });
    await send('PATCH', `mcp-servers/${server}`, { credential_id: null });
    expect(await check()).toMatchObject({ ok: false, code: 'auth_failed' });
    await admin.query('update mcp_servers set url = $2 where id = $1', [server, 'https://10.0.0.1/mcp']);
    expect(await check()).toMatchObject({ ok: false, code: 'scope_invalid' });
  });

  it.each([
    [{}, 'invalid_request', 'scope_config'],
    [{ server_id: newId(), url: 'https://tools.example.com/mcp' }, 'invalid_request', 'scope_config'],
    [{ server_id: 'a-slug' }, 'invalid_request', 'scope_config.server_id'],
    [{ server_id: null }, 'invalid_request', 'scope_config.server_id'],
    [{ server_id: newId(), colour: 'red' }, 'unknown_parameter', 'scope_config.colour'],
  ])('names exactly one of server and address, in its form: %j', async (scope_config, code, param) => {
    for (const path of ['', '/check']) {
      const body = { provider_slug: 'mcp', scope_config };
      expect(await send('POST', connectors() + path, body)).toMatchObject(refusal(422, code, { param }));
    }
  });

  it('takes no credential beside that of the server', async () => {
    const server = await register();
    const credential_id = await storedCredential();
    for (const path of ['', '/check']) {
      const at = connectors() + path;
      expect(await send('POST', at, reading(server, { credential_id }))).toMatchObject(
        refusal(422, 'invalid_request', { param: 'credential_id' }),
      );
      expect(await send('POST', at, reading(server, { client_credential_id: credential_id }))).toMatchObject(
        refusal(422, 'invalid_request', { param: 'client_credential_id' }),
      );
    }
  });

  it('is refused in words for a server that only people or the worker have a credential of, or that is disabled', async () => {
    const personal = await register({ connection_mode: 'personal' });
    const variable = await register({ auth: { credential_ref: 'DOCS_TOKEN' } });
    const disabled = await register();
    await send('PATCH', `mcp-servers/${disabled}`, { enabled: false });
    for (const [server, words] of [
      [personal, 'the account of each person'],
      [variable, 'a variable of the worker'],
      [disabled, 'is disabled'],
      [newId(), 'no tool server with this id'],
    ] as const) {
      for (const path of ['', '/check']) {
        expect(await send('POST', connectors() + path, reading(server))).toMatchObject(ofServer(words));
      }
    }
  });

  it('needs a server of its own space, and says of another’s what it says of an unknown one', async () => {
    const { id: beside } = await maker.server(neighbour);
    const { id: foreign } = await maker.server(abroad);
    const unknown = await send('POST', connectors(), reading(newId()));
    expect(unknown).toMatchObject(ofServer('no tool server with this id'));
    const own = await send('POST', connectors(), reading(await register()));
    const said = ({ status, text, body }: Answer) => `${status} ${text.replace(body.error.request_id, '')}`;
    for (const server of [beside, foreign]) {
      expect(said(await send('POST', connectors(), reading(server)))).toBe(said(unknown));
      const { scope_config } = reading(server);
      const patched = await send('PATCH', `${connectors()}/${own.body.data.id}`, { scope_config });
      expect(said(patched)).toBe(said(unknown));
    }
  });

  it('is created and moved by those who may have the server called', async () => {
    const server = await register({ credential_id: await storedCredential() });
    const { apiKey } = await addMember(database.unitOfWork, world, {
      spaceRole: 'space_editor',
      keyPermissions: ['connectors.create', 'connectors.update', 'connectors.read'],
    });
    const missing = refusal(403, 'missing_permission', { missing_permission: 'tools.execute' });
    for (const path of ['', '/check']) {
      expect(await send('POST', connectors() + path, reading(server), apiKey)).toMatchObject(missing);
    }
    const made = await send('POST', connectors(), { ...reading(server), sync_schedule: { type: 'manual' } });
    const one = `${connectors()}/${made.body.data.id}`;
    const scope_config = { server_id: server, uri_patterns: ['docs:*'] };
    expect(await send('PATCH', one, { scope_config }, apiKey)).toMatchObject(missing);
    // What it reads stays as it is.
    expect(await send('PATCH', one, { status: 'paused' }, apiKey)).toMatchObject({ status: 200 });
    expect(await send('PATCH', one, { scope_config })).toMatchObject({ status: 200 });
  });

  it('moves to an address and back', async () => {
    const server = await register({ credential_id: await storedCredential() });
    const made = await send('POST', connectors(), reading(server));
    const one = `${connectors()}/${made.body.data.id}`;
    const plain = { scope_config: source.scopeConfig, credential_id: await storedCredential() };
    expect(await send('PATCH', one, plain)).toMatchObject({ status: 200 });
    expect(await serverOf(made.body.data.id)).toBeNull();
    // The credential of before does not stay beside the server.
    const { scope_config } = reading(server);
    expect(await send('PATCH', one, { scope_config })).toMatchObject(
      refusal(422, 'invalid_request', { param: 'credential_id' }),
    );
    expect(await send('PATCH', one, { scope_config, credential_id: null })).toMatchObject({ status: 200 });
    expect(await serverOf(made.body.data.id)).toBe(server);
  });

  it('cannot be resumed while the server cannot be read', async () => {
    const server = await register({ credential_id: await storedCredential() });
    const made = await send('POST', connectors(), reading(server));
    const one = `${connectors()}/${made.body.data.id}`;
    await send('PATCH', one, { status: 'paused' });
    const mode = { credential_id: null, connection_mode: 'personal' };
    expect((await send('PATCH', `mcp-servers/${server}`, mode)).status).toBe(200);
    const resumed = await send('PATCH', one, { status: 'active' });
    expect(resumed).toMatchObject(
      refusal(409, 'connector_check_failed', {
        message: expect.stringMatching(/^auth_failed: .*account of each person/) as string,
      }),
    );
  });
});

describe('a tool server that a connector reads', () => {
  it('is not removed, and names its connectors to those who may see them', async () => {
    const server = await register();
    const made = await send('POST', connectors(), reading(server));
    const id = made.body.data.id as string;
    expect(await send('DELETE', `mcp-servers/${server}`)).toMatchObject(
      refusal(409, 'mcp_server_in_use', { used_by: [{ type: 'connector', id, name: 'mcp' }] }),
    );
    const blind = await addMember(database.unitOfWork, world, {
      tenantRoles: ['owner'],
      keyPermissions: ['mcp_servers.delete'],
    });
    expect(await send('DELETE', `mcp-servers/${server}`, undefined, blind.apiKey)).toMatchObject(
      refusal(409, 'mcp_server_in_use', { used_by: [] }),
    );
    // Not by a statement of any other writer either.
    await expect(admin.query('delete from mcp_servers where id = $1', [server])).rejects.toMatchObject({
      code: '23503',
    });
    await admin.query('delete from sync_runs where connector_id = $1', [id]);
    await admin.query('delete from connectors where id = $1', [id]);
    expect((await send('DELETE', `mcp-servers/${server}`)).body).toEqual({
      data: { id: server, deleted: true },
    });
    expect(await send('POST', connectors(), reading(server))).toMatchObject(
      ofServer('no tool server with this id'),
    );
  });

  it('that is being removed is read by nobody: of both at once, one is refused', async () => {
    for (let round = 0; round < 5; round += 1) {
      const server = await register();
      const [removed, made] = await Promise.all([
        send('DELETE', `mcp-servers/${server}`),
        send('POST', connectors(), reading(server)),
      ]);
      expect([
        [200, 422],
        [409, 201],
      ]).toContainEqual([removed.status, made.status]);
    }
  });
});

it('the provider describes both ways, of which a scope has one', async () => {
  const providers = await gateway.send({
    method: 'GET',
    path: '/v1/connector-providers',
    apiKey: here.apiKey,
  });
  const { scope_schema } = providers.body.data.find(({ slug }: { slug: string }) => slug === 'mcp');
  expect(scope_schema).toMatchObject({
    additionalProperties: false,
    properties: { server_id: { format: 'uuid' }, url: { format: 'uri' } },
    oneOf: [{ required: ['server_id'] }, { required: ['url'] }],
  });
});
