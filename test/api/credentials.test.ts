import { generateKeyPairSync } from 'node:crypto';
import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createProviderBody } from '#api/contract/identity-providers.ts';
import { fingerprintOf } from '#domain/foundation/idempotency/idempotency.ts';
import { createSpace } from '#domain/workspace/spaces/create-space.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openGateway, type Answer, type TestGateway } from '../support/gateway.ts';
import { modelBody } from '../support/places.ts';
import { connect } from '../support/tables.ts';
import { addMember, createWorld, type World } from '../support/world.ts';

let database: TestDatabase;
let gateway: TestGateway;
let world: World;
let other: World;
let admin: Client;
let besideId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  admin = await connect(database.adminUrl);
  gateway = await openGateway(database);
  world = await createWorld(database.unitOfWork);
  other = await createWorld(database.unitOfWork);
  besideId = await database.unitOfWork.inTenant(world.tenantId, async (em) => {
    return (await createSpace(em, world.owner, { name: 'Beside' })).id;
  });
});
afterAll(async () => {
  await gateway?.close();
  await admin?.end();
  await database?.drop();
});

const token = 'tk-wombat-4411';
const origin = 'https://crm.example.com';
let count = 0;
const body = (more: object = {}) => {
  count += 1;
  return { name: `crm ${count}`, kind: 'bearer', origin, value: { token }, ...more };
};
const sendAs = (apiKey: string, method: string, path: string, sent?: object, headers = {}): Promise<Answer> =>
  gateway.send({ method, path: `/v1/${path}`, apiKey, headers, ...(sent && { body: sent }) });
const send = (method: string, path: string, sent?: object, headers = {}) =>
  sendAs(world.apiKey, method, path, sent, headers);
const inSpace = (path = '') => `spaces/${world.spaceId}/credentials${path}`;
const made = async (more: object = {}, path = inSpace()): Promise<string> => {
  const answer = await send('POST', path, body(more));
  expect(answer.status, answer.text).toBe(201);
  return answer.body.data.id as string;
};
const server = (more: object) => ({
  slug: `s${(count += 1)}`,
  display_name: 'CRM',
  url: `${origin}/mcp`,
  ...more,
});
const rowOf = async (id: string) =>
  (await admin.query('select * from credentials where id = $1', [id])).rows[0] as Record<string, unknown>;

/** Its first line of content stands for it in the searches for a value. */
const signingKey = generateKeyPairSync('ec', {
  namedCurve: 'P-256',
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
}).privateKey;

const values: [string, object][] = [
  ['bearer', { token }],
  ['header', { name: 'X-Api-Key', value: `${token} and more` }],
  ['basic', { username: 'ada', password: `${token} ü` }],
  ['oauth2_client', { client_id: 'us', client_secret: token, token_url: 'https://id.example.com/token' }],
  ['oauth2_client', { client_id: 'us', private_key: signingKey, issuer: 'https://id.example.com' }],
  ['access_key', { access_key_id: 'AK1', secret_access_key: token }],
  ['access_key', { access_key_id: 'AK2', secret_access_key: 'key', session_token: token }],
];

describe('a credential', () => {
  it.each(values)('of kind %s is stored sealed, and its value is in no answer', async (kind, value) => {
    const answer = await send('POST', inSpace(), body({ kind, value }));
    expect(answer.status, answer.text).toBe(201);
    const { id } = answer.body.data;
    expect(answer.body.data).toMatchObject({
      space_id: world.spaceId,
      kind,
      origin,
      has_value: true,
      header: kind === 'header' ? 'X-Api-Key' : null,
      created_by: world.owner.principalId,
      last_used_at: null,
    });
    const read = await send('GET', inSpace(`/${id}`));
    const listed = await send('GET', inSpace());
    expect(read.body.data).toEqual(answer.body.data);
    expect(listed.body.data[0]).toEqual(answer.body.data);
    const { rows: events } = await admin.query('select metadata from events where resource_id = $1', [id]);
    expect(events).toHaveLength(1);
    const row = await rowOf(id);
    expect(row['sealed_value']).toMatch(/^v1\|/);
    for (const text of [answer.text, read.text, listed.text, JSON.stringify([row, events])]) {
      expect(text).not.toContain(token);
      expect(text).not.toContain(signingKey.split('\n')[1]);
    }
  });

  const refused: [string, object, string][] = [
    ['no token', { value: {} }, '/value/token'],
    ['a token with a space', { value: { token: `${token} x` } }, '/value/token'],
    ['a token with a line break', { value: { token: `${token}\r\nX-A: b` } }, '/value/token'],
    ['a token that is too long', { value: { token: 'x'.repeat(8_193) } }, '/value/token'],
    ['a member of another kind', { value: { token, password: token } }, '/value/password'],
    [
      'a header with a line break',
      { kind: 'header', value: { name: 'X-A', value: `${token}\r\nb` } },
      '/value/value',
    ],
    ['a reserved header', { kind: 'header', value: { name: 'Host', value: token } }, '/value/name'],
    [
      'a header of the protocol',
      { kind: 'header', value: { name: 'Mcp-Session-Id', value: token } },
      '/value/name',
    ],
    [
      'a name that is none of a header',
      { kind: 'header', value: { name: 'X A', value: token } },
      '/value/name',
    ],
    [
      'a user with a colon',
      { kind: 'basic', value: { username: 'a:b', password: token } },
      '/value/username',
    ],
    ['a password without a user', { kind: 'basic', value: { password: token } }, '/value/username'],
    [
      'too many bytes of few characters',
      { kind: 'basic', value: { username: 'a', password: 'ü'.repeat(600) } },
      '/value/password',
    ],
    [
      'a token address with a password',
      {
        kind: 'oauth2_client',
        value: { client_id: 'a', client_secret: token, token_url: `https://a:${token}@id.example.com/` },
      },
      '/value/token_url',
    ],
    [
      'both a secret and a key',
      {
        kind: 'oauth2_client',
        value: {
          client_id: 'a',
          client_secret: token,
          private_key: signingKey,
          issuer: 'https://id.example.com',
        },
      },
      '/value/client_secret',
    ],
    [
      'a key that signs nothing',
      {
        kind: 'oauth2_client',
        value: {
          client_id: 'a',
          private_key: `-----BEGIN PRIVATE KEY-----\n${token}`,
          issuer: 'https://id.example.com',
        },
      },
      '/value/private_key',
    ],
    [
      'neither an issuer nor a token address',
      { kind: 'oauth2_client', value: { client_id: 'a', client_secret: token } },
      '/value/token_url',
    ],
    [
      'an issuer that is no address',
      { kind: 'oauth2_client', value: { client_id: 'a', client_secret: token, issuer: 'id.example.com' } },
      '/value/issuer',
    ],
    ['half an access key', { kind: 'access_key', value: { access_key_id: 'a' } }, '/value/secret_access_key'],
    ['an origin with a path', { origin: `${origin}/mcp` }, '/origin'],
    ['an origin with an empty query', { origin: `${origin}?` }, '/origin'],
    ['an origin with an empty fragment', { origin: `${origin}/#` }, '/origin'],
    ['an origin with a user', { origin: 'https://user@crm.example.com' }, '/origin'],
    ['an origin of another scheme', { origin: 'ftp://crm.example.com' }, '/origin'],
    ['an unknown kind', { kind: 'cookie' }, '/kind'],
  ];
  it.each(refused)(
    'with %s is refused by its place, without a word of its value',
    async (_name, more, at) => {
      const answer = await send('POST', inSpace(), body(more));
      expect(answer.status, answer.text).toBe(422);
      expect(answer.body.error.errors[0].pointer).toBe(at);
      expect(answer.text).not.toContain(token);
    },
  );

  it('is made once for a key, whose fingerprint no reader of the table could guess a value by', async () => {
    const sent = body();
    const key = { 'idempotency-key': `key-${count}` };
    const first = await send('POST', inSpace(), sent, key);
    const again = await send('POST', inSpace(), sent, key);
    expect([first.status, again.status]).toEqual([201, 200]);
    expect(again.body).toEqual(first.body);
    const changed = await send('POST', inSpace(), { ...sent, value: { token: `${token}2` } }, key);
    expect(changed.body.error.code).toBe('idempotency_key_reused');
    const { rows } = await admin.query('select fingerprint from idempotency_keys where key = $1', [
      key['idempotency-key'],
    ]);
    expect(rows).toHaveLength(1);
    expect(rows[0].fingerprint).not.toBe(fingerprintOf(sent));
  });

  it('has a name of its own in its space, which another space may use as well', async () => {
    const { name } = body();
    await made({ name });
    expect((await send('POST', inSpace(), body({ name }))).body.error.code).toBe('already_exists');
    await made({ name }, `spaces/${besideId}/credentials`);
    await made({ name }, 'admin/credentials');
    expect((await send('POST', 'admin/credentials', body({ name }))).body.error.code).toBe('already_exists');
  });

  it('is rotated by a value and by nothing else', async () => {
    const id = await made();
    const before = await rowOf(id);
    const renamed = await send('PATCH', inSpace(`/${id}`), { name: `${String(before['name'])} 2` });
    expect(renamed.status).toBe(200);
    expect(await rowOf(id)).toMatchObject({
      sealed_value: before['sealed_value'],
      version: 1,
      rotated_at: before['rotated_at'],
    });
    const rotated = await send('PATCH', inSpace(`/${id}`), { value: { token: `${token}-next` } });
    expect(rotated.text).not.toContain(token);
    const after = await rowOf(id);
    expect(after['version']).toBe(2);
    expect(after['sealed_value']).not.toBe(before['sealed_value']);
    expect(new Date(rotated.body.data.rotated_at)).toEqual(after['rotated_at']);
    expect(after['rotated_at']).not.toEqual(before['rotated_at']);
    const { rows } = await admin.query('select event_type from events where resource_id = $1 order by id', [
      id,
    ]);
    expect(rows.map(({ event_type: type }) => type)).toEqual([
      'security.credential_created',
      'security.credential_updated',
      'security.credential_rotated',
    ]);
    const wrong = await send('PATCH', inSpace(`/${id}`), { value: { username: 'a', password: token } });
    expect(wrong.body.error.errors[0].pointer).toBe('/value/token');
    const moved = await send('PATCH', inSpace(`/${id}`), { origin: 'https://collector.example.com' });
    expect(moved.body.error.code).toBe('unknown_parameter');
  });

  it('of a space is unknown in another one and among the tenant’s, and the other way round', async () => {
    const [ofSpace, ofTenant] = [await made(), await made({}, 'admin/credentials')];
    for (const path of [
      `spaces/${besideId}/credentials/${ofSpace}`,
      `admin/credentials/${ofSpace}`,
      inSpace(`/${ofTenant}`),
    ]) {
      for (const [method, sent] of [['GET'], ['PATCH', { name: 'x' }], ['DELETE']] as const) {
        const answer = await send(method, path, sent);
        expect(answer.body.error.code, `${method} ${path}`).toBe('credential_not_found');
      }
    }
  });

  it('is for those who hold its permissions: editors see it, members do not', async () => {
    const id = await made();
    const [editor, member] = await Promise.all(
      ['space_editor', 'space_member'].map((spaceRole) =>
        addMember(database.unitOfWork, world, { spaceRole }),
      ),
    );
    expect((await sendAs(editor!.apiKey, 'GET', inSpace(`/${id}`))).status).toBe(200);
    const refusals = [
      await sendAs(editor!.apiKey, 'PATCH', inSpace(`/${id}`), { name: 'x' }),
      await sendAs(member!.apiKey, 'GET', inSpace()),
    ];
    expect(refusals.map((answer) => answer.body.error.missing_permission)).toEqual([
      'credentials.manage',
      'credentials.read',
    ]);
  });
});

describe('an identity provider with a client’s secret', () => {
  it('is registered once for a key, whose fingerprint no reader of the table could guess the secret by', async () => {
    const sent = createProviderBody.parse({
      slug: `idp${(count += 1)}`,
      display_name: 'People',
      issuer: 'https://id.example.com',
      client_id: 'client',
      client_secret: token,
    });
    const path = 'admin/identity-providers';
    const key = { 'idempotency-key': `provider-${count}` };
    const first = await send('POST', path, sent, key);
    const again = await send('POST', path, sent, key);
    expect([first.status, again.status]).toEqual([201, 200]);
    expect(again.body).toEqual(first.body);
    const changed = await send('POST', path, { ...sent, client_secret: `${token}2` }, key);
    expect(changed.body.error.code).toBe('idempotency_key_reused');
    const { rows } = await admin.query('select fingerprint from idempotency_keys where key = $1', [
      key['idempotency-key'],
    ]);
    expect(rows).toHaveLength(1);
    expect(rows[0].fingerprint).not.toBe(fingerprintOf(sent));
  });
});

describe('a reference to a credential', () => {
  const register = (more: object, spaceId = world.spaceId) =>
    send('POST', `spaces/${spaceId}/mcp-servers`, server(more));

  it('of a tool server may be to the space’s own or to the tenant’s, for the origin of its address', async () => {
    const [ofSpace, ofTenant] = [await made(), await made({}, 'admin/credentials')];
    const registered = await register({ credential_id: ofSpace });
    expect(registered.status, registered.text).toBe(201);
    expect(registered.body.data).toMatchObject({ credential_id: ofSpace, credential_ref: null });
    const beside = await register({ credential_id: ofTenant }, besideId);
    expect(beside.body.data).toMatchObject({ credential_id: ofTenant });
  });

  it('that could not be used is refused at its place', async () => {
    const key = { kind: 'access_key', value: { access_key_id: 'a', secret_access_key: token } };
    const elsewhere = await made({ origin: 'https://crm.example.com:8443' });
    const foreign = await sendAs(other.apiKey, 'POST', `spaces/${other.spaceId}/credentials`, body());
    const id = await made();
    const registered = await register({ credential_id: id });
    const one = `spaces/${world.spaceId}/mcp-servers/${registered.body.data.mcp_server_config_id}`;
    const wrong: [string, Answer][] = [
      ['another origin', await register({ credential_id: elsewhere })],
      ['another port', await send('PATCH', one, { credential_id: elsewhere })],
      ['access key', await register({ credential_id: await made(key) })],
      ['another space', await register({ credential_id: id }, besideId)],
      ['another tenant', await register({ credential_id: foreign.body.data.id })],
      ['two at once', await register({ credential_id: id, auth: { credential_ref: 'CRM_TOKEN' } })],
      ['of a space, to a model', await send('POST', 'admin/models', { ...modelBody(), credential_id: id })],
    ];
    for (const [name, answer] of wrong) {
      expect([name, answer.status, answer.body.error.errors?.[0].pointer]).toEqual([
        name,
        422,
        '/credential_id',
      ]);
    }
    const said = (name: string) => wrong.find(([each]) => each === name)![1].body.error.message as string;
    expect(said('another tenant')).toBe(said('another space'));
  });

  it('takes the place of a server’s variable, and has its tools read again', async () => {
    const registered = await register({ auth: { credential_ref: 'CRM_TOKEN', header: 'X-Token' } });
    const id = registered.body.data.mcp_server_config_id as string;
    const one = `spaces/${world.spaceId}/mcp-servers/${id}`;
    const credential = await made();
    gateway.dispatched.splice(0);
    const changed = await send('PATCH', one, { credential_id: credential });
    expect(changed.body.data).toMatchObject({ credential_id: credential, credential_ref: null });
    expect(gateway.dispatched.map(({ workflowId }) => workflowId)).toEqual([
      `mcp-server/${world.tenantId}/${id}/2`,
    ]);
    const removed = await send('PATCH', one, { credential_id: null });
    expect(removed.body.data).toMatchObject({ credential_id: null, credential_ref: null });
  });

  it('of a model replaces its variable, is replaced by one, and is held against a new address', async () => {
    const credential = await made({ origin: 'https://api.openai.com' }, 'admin/credentials');
    const answer = await send('POST', 'admin/models', { ...modelBody(), credential_ref: 'OPENAI_API_KEY' });
    const path = `admin/models/${answer.body.data.id}`;
    const stored = await send('PATCH', path, { credential_id: credential });
    expect(stored.body.data).toMatchObject({ credential_id: credential, credential_ref: null });
    const moved = await send('PATCH', path, { base_url: 'https://collector.example.com/v1' });
    expect([moved.status, moved.body.error.param]).toEqual([422, 'credential_id']);
    const variable = await send('PATCH', path, { credential_ref: 'OPENAI_API_KEY' });
    expect(variable.body.data).toMatchObject({ credential_id: null, credential_ref: 'OPENAI_API_KEY' });
    const both = await send('PATCH', path, { credential_ref: 'OPENAI_API_KEY', credential_id: credential });
    expect([both.status, both.body.error.param]).toEqual([422, 'credential_id']);
  });
});

describe('a credential in use', () => {
  it('is not deleted, and names what uses it to those who may see that', async () => {
    const credential = await made({ origin: 'https://api.openai.com' }, 'admin/credentials');
    const model = await send('POST', 'admin/models', { ...modelBody(), credential_id: credential });
    const registered = await send(
      'POST',
      `spaces/${world.spaceId}/mcp-servers`,
      server({ url: 'https://api.openai.com/mcp', credential_id: credential }),
    );
    const answer = await send('DELETE', `admin/credentials/${credential}`);
    expect([answer.status, answer.body.error.code]).toEqual([409, 'credential_in_use']);
    const { id, alias } = model.body.data;
    const { mcp_server_config_id: serverId, slug } = registered.body.data;
    expect(answer.body.error.used_by).toEqual([
      { type: 'mcp_server', id: serverId, name: slug },
      { type: 'model', id, name: alias },
    ]);
    const blind = await addMember(database.unitOfWork, world, {
      tenantRoles: ['owner'],
      keyPermissions: ['credentials.manage', 'models.read'],
    });
    const less = await sendAs(blind.apiKey, 'DELETE', `admin/credentials/${credential}`);
    expect(less.body.error.used_by).toEqual([{ type: 'model', id, name: alias }]);
    await send('DELETE', `spaces/${world.spaceId}/mcp-servers/${serverId}`);
    await send('PATCH', `admin/models/${id}`, { credential_id: null });
    const gone = await send('DELETE', `admin/credentials/${credential}`);
    expect(gone.body).toEqual({ data: { id: credential, deleted: true } });
    expect(await rowOf(credential)).toBeUndefined();
  });

  it('that is being deleted is referred to by nobody: both orders of the two end in one of them refused', async () => {
    for (let round = 0; round < 5; round += 1) {
      const id = await made();
      const [deleted, registered] = await Promise.all([
        send('DELETE', inSpace(`/${id}`)),
        send('POST', `spaces/${world.spaceId}/mcp-servers`, server({ credential_id: id })),
      ]);
      expect([
        [200, 422],
        [409, 201],
      ]).toContainEqual([deleted.status, registered.status]);
    }
  });
});
