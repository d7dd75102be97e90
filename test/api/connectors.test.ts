import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventTypesOf } from '../support/event-log.ts';
import { openGateway, type Answer, type TestGateway } from '../support/gateway.ts';
import { createPlaces, Maker, type Place } from '../support/places.ts';
import { MemorySource } from '../support/sources/memory-source.ts';
import { callProcedure, errorOf } from '../support/procedures.ts';
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
const maker = new Maker(() => gateway);
const memory = new Map<string, MemorySource>();

beforeAll(async () => {
  database = await createTestDatabase();
  admin = await connect(database.adminUrl);
  gateway = await openGateway(database, { CONNECTOR_ROOTS: 'files=/nonexistent' }, undefined, memory);
  ({ world, here, neighbour, abroad } = await createPlaces(database));
  collectionId = await maker.collection(here);
});
afterAll(async () => {
  await gateway?.close();
  await admin?.end();
  await database?.drop();
});

const send = (
  method: string,
  path = '',
  body?: object,
  { apiKey = here.apiKey, headers = {} }: { apiKey?: string; headers?: Record<string, string> } = {},
): Promise<Answer> =>
  gateway.send({
    method,
    path: `/v1/spaces/${here.spaceId}/collections/${collectionId}/connectors${path}`,
    apiKey,
    headers,
    ...(body && { body }),
  });

const folder = (more: object = {}) => ({
  provider_slug: 'filesystem',
  scope_config: { root: 'files' },
  ...more,
});
const created = async (body: object = folder()): Promise<string> =>
  (await send('POST', '', body)).body.data.id as string;
/** A connector of a scripted source of its own. */
async function scripted(more: object = {}): Promise<{ id: string; source: MemorySource }> {
  const name = `source-${memory.size}`;
  const source = new MemorySource();
  memory.set(name, source);
  const id = await created({ provider_slug: 'memory', scope_config: { name }, ...more });
  return { id, source };
}
const credential = (place: Place, more: object = {}) =>
  gateway
    .send({
      method: 'POST',
      path: `/v1/spaces/${place.spaceId}/credentials`,
      apiKey: place.apiKey,
      body: {
        name: newId(),
        kind: 'bearer',
        origin: 'https://tools.example.com',
        value: { token: 'tk-stored-7f3e' },
        ...more,
      },
    })
    .then(({ body }) => body.data.id as string);
const refusal = (status: number, code: string, more: object = {}) => ({
  status,
  body: { error: { code, ...more } },
});

describe('a connector', () => {
  it('is created with the contract’s record and its defaults, and its first run and its actor are enqueued', async () => {
    gateway.dispatched.splice(0);
    const answer = await send('POST', '', folder({ sync_schedule: { type: 'interval', minutes: 60 } }));
    expect(answer.status).toBe(201);
    const { data } = answer.body;
    expect(Object.keys(data).sort()).toEqual(
      [
        'id',
        'collection_id',
        'provider_slug',
        'principal_id',
        'scope_config',
        'status',
        'sync_schedule',
        'last_synced_at',
        'created_at',
        'updated_at',
        'credential_id',
        'client_credential_id',
        'status_reason',
        'next_runs',
      ].sort(),
    );
    expect(data).toMatchObject({
      collection_id: collectionId,
      provider_slug: 'filesystem',
      principal_id: world.owner.principalId,
      credential_id: null,
      scope_config: { root: 'files', path: '' },
      status: 'pending',
      status_reason: null,
      last_synced_at: null,
    });
    const times = (data.next_runs as string[]).map((time) => Date.parse(time));
    expect(times).toHaveLength(5);
    expect(times[4]! - times[0]!).toBe(4 * 3_600_000);
    expect(times[0]!).toBeGreaterThan(Date.now());
    expect(gateway.dispatched).toMatchObject([
      { workflowType: 'runConnector', workflowId: `connector/${here.tenantId}/${data.id}` },
    ]);
    const runs = await send('GET', `/${data.id}/sync`);
    expect(runs.body.data).toMatchObject([
      { status: 'queued', error_message: null, metadata: { trigger: 'initial', mode: 'incremental' } },
    ]);
    expect((await send('GET', `/${data.id}`)).body.data).toMatchObject({ id: data.id, status: 'pending' });
  });

  it('is created once for a key, and begins no run where its schedule is manual', async () => {
    const headers = { 'idempotency-key': newId() };
    const body = folder({ sync_schedule: { type: 'manual' } });
    const first = await send('POST', '', body, { headers });
    const second = await send('POST', '', body, { headers });
    expect([first.status, second.status]).toEqual([201, 200]);
    expect(second.body.data.id).toBe(first.body.data.id);
    expect(second.headers['idempotent-replayed']).toBe('true');
    expect(first.body.data.next_runs).toEqual([]);
    expect((await send('GET', `/${first.body.data.id}/sync`)).body.data).toEqual([]);
  });

  it('is listed by status, and an unknown status is refused', async () => {
    const id = await created();
    await send('PATCH', `/${id}`, { status: 'paused' });
    const paused = await send('GET', '?status=paused');
    expect(paused.body.data.map((each: { id: string }) => each.id)).toContain(id);
    expect(new Set(paused.body.data.map((each: { status: string }) => each.status))).toEqual(
      new Set(['paused']),
    );
    expect(await send('GET', '?status=asleep')).toMatchObject(
      refusal(422, 'invalid_request', { param: 'status' }),
    );
  });

  it.each([
    [{ colour: 'red' }, 'unknown_parameter', 'colour', '/colour'],
    [{ provider_slug: 'carrier-pigeon' }, 'invalid_request', 'provider_slug', '/provider_slug'],
    [{ scope_config: {} }, 'invalid_request', 'scope_config.root', '/scope_config/root'],
    [{ scope_config: { root: 1 } }, 'invalid_request', 'scope_config.root', '/scope_config/root'],
    [
      { scope_config: { root: 'files', path: '../etc' } },
      'invalid_request',
      'scope_config.path',
      '/scope_config/path',
    ],
    [
      { scope_config: { root: 'files', colour: 'red' } },
      'unknown_parameter',
      'scope_config.colour',
      '/scope_config/colour',
    ],
    [
      { provider_slug: 'memory', scope_config: { name: 'a', note: 'x'.repeat(70_000) } },
      'invalid_request',
      'scope_config',
      '/scope_config',
    ],
    [
      { provider_slug: 'memory', scope_config: { name: 'a', origin: 'https://ada:secret@example.com' } },
      'invalid_request',
      'scope_config.origin',
      '/scope_config/origin',
    ],
    [
      { sync_schedule: { type: 'interval', minutes: 1 } },
      'invalid_request',
      'sync_schedule.minutes',
      '/sync_schedule/minutes',
    ],
    [
      { sync_schedule: { type: 'cron', expression: '* * * * *', timezone: 'UTC' } },
      'invalid_request',
      'sync_schedule.expression',
      '/sync_schedule/expression',
    ],
    [
      { sync_schedule: { type: 'cron', expression: '0 3 * * *', timezone: 'Mars/Olympus' } },
      'invalid_request',
      'sync_schedule.timezone',
      '/sync_schedule/timezone',
    ],
    [{ credential_id: newId() }, 'invalid_request', 'credential_id', '/credential_id'],
  ])('is refused with %j, and nothing is stored', async (more, code, param, pointer) => {
    const before = (await send('GET', '?limit=1')).body.data[0]?.id;
    for (const path of ['', '/check']) {
      const answer = await send('POST', path, folder(more));
      expect(answer).toMatchObject(refusal(422, code, { param }));
      expect(answer.body.error.errors.map((each: { pointer: string }) => each.pointer)).toContain(pointer);
      expect(answer.text).not.toContain('secret@');
    }
    expect((await send('GET', '?limit=1')).body.data[0]?.id).toBe(before);
  });

  it.each<[string, object, string, string]>([
    ['s3', {}, 'scope_config.endpoint', '`scope_config.endpoint` is missing.'],
    [
      's3',
      { endpoint: 'https://s3.example.com', bucket: 'docs', colour: 'red' },
      'scope_config.colour',
      '`scope_config.colour` is not known; known are endpoint, region, bucket, prefix, include, exclude, path_style.',
    ],
    [
      's3',
      { endpoint: 'https://s3.example.com', bucket: 3 },
      'scope_config.bucket',
      '`scope_config.bucket` must be a text; a number was sent.',
    ],
    [
      's3',
      { endpoint: 's3.example.com', bucket: 'docs' },
      'scope_config.endpoint',
      '`scope_config.endpoint` must be an http(s) address without credentials, query or fragment, such as https://www.example.com/path.',
    ],
    [
      'github',
      { repositories: ['octocat/one', 'two'] },
      'scope_config.repositories.1',
      '`scope_config.repositories.1` must be <owner>/<name>, such as octocat/hello-world.',
    ],
    [
      'github',
      { repositories: ['octocat/one'], kinds: ['wikis'] },
      'scope_config.kinds.0',
      '`scope_config.kinds.0` must be one of issues, pull_requests, discussions; wikis was sent.',
    ],
    [
      'imap',
      { host: 'mail.example.com', port: 70_000 },
      'scope_config.port',
      '`scope_config.port` must be at most 65535; 70000 was sent.',
    ],
    ['mcp', {}, 'scope_config', '`scope_config` must name either server_id or url.'],
    [
      'sharepoint',
      {},
      'scope_config.site_url',
      '`scope_config.site_url` must be given, or drive_ids, but not both.',
    ],
  ])(
    'of %s with the scope %j is refused in words that name the field and what it may be',
    async (provider_slug, scope_config, param, message) => {
      const body = { provider_slug, scope_config };
      const call = { ...body, space_id: here.spaceId, collection_id: collectionId };
      const said = await Promise.all([
        ...['', '/check'].map(async (path) => (await send('POST', path, body)).body.error),
        ...['connectors.create', 'connectors.check'].map(async (path) =>
          errorOf(
            await callProcedure(gateway, {
              procedure: { path, type: 'mutation' },
              input: call,
              apiKey: here.apiKey,
            }),
          ),
        ),
      ]);
      expect(said.map((error) => [error.param, error.message])).toEqual(said.map(() => [param, message]));
    },
  );

  it.each([['daily'], [{ type: 'daily' }], [60], [{ minutes: 60 }]])(
    'is refused with the schedule %j by the names of all forms',
    async (sync_schedule) => {
      const id = await created(folder({ sync_schedule: { type: 'manual' } }));
      for (const answer of [
        await send('POST', '', folder({ sync_schedule })),
        await send('PATCH', `/${id}`, { sync_schedule }),
      ]) {
        expect(answer).toMatchObject(refusal(422, 'invalid_request', { param: 'sync_schedule' }));
        for (const form of ['null', 'manual', 'interval', 'cron']) {
          expect(answer.body.error.message).toContain(form);
        }
      }
    },
  );

  it('shows five fields where a cron expression is none', async () => {
    const sync_schedule = { type: 'cron', expression: 'daily', timezone: 'UTC' };
    expect((await send('POST', '', folder({ sync_schedule }))).body.error).toMatchObject({
      param: 'sync_schedule.expression',
      message: expect.stringContaining('such as 0 6 * * 1-5'),
    });
  });

  it('says what is wrong with a part of the form that is meant', async () => {
    const answer = await send('POST', '', folder({ sync_schedule: { type: 'interval' } }));
    expect(answer).toMatchObject(
      refusal(422, 'invalid_request', {
        param: 'sync_schedule.minutes',
        message: '`sync_schedule.minutes` is missing.',
      }),
    );
  });

  it('takes a credential of its space for the origin of its source, and no other', async () => {
    const body = (credentialId: string) => ({
      provider_slug: 'memory',
      scope_config: { name: 'keyed', origin: 'https://tools.example.com' },
      credential_id: credentialId,
    });
    const own = await credential(here);
    expect((await send('POST', '', body(own))).body.data).toMatchObject({ credential_id: own });
    const wrong = [
      await credential(neighbour),
      await credential(abroad),
      await credential(here, { origin: 'https://other.example.com' }),
      await credential(here, { kind: 'basic', value: { username: 'ada', password: 'pw-1' } }),
    ];
    for (const id of wrong) {
      expect(await send('POST', '', body(id))).toMatchObject(
        refusal(422, 'invalid_request', { param: 'credential_id' }),
      );
    }
  });

  it('names the permission that is missing, and is unknown to another tenant and in another collection', async () => {
    const id = await created();
    const reader = await addMember(database.unitOfWork, world, { spaceRole: 'space_viewer' });
    const { apiKey } = reader;
    const missing = (permission: string) =>
      refusal(403, 'missing_permission', { missing_permission: permission });
    expect((await send('GET', `/${id}`, undefined, { apiKey })).status).toBe(200);
    expect(await send('POST', '', folder(), { apiKey })).toMatchObject(missing('connectors.create'));
    expect(await send('POST', '/check', folder(), { apiKey })).toMatchObject(missing('connectors.create'));
    expect(await send('PATCH', `/${id}`, { status: 'paused' }, { apiKey })).toMatchObject(
      missing('connectors.update'),
    );
    expect(await send('POST', `/${id}/sync`, {}, { apiKey })).toMatchObject(missing('connectors.sync'));
    expect(await send('DELETE', `/${id}`, undefined, { apiKey })).toMatchObject(missing('connectors.delete'));
    expect(await send('GET', `/${id}`, undefined, { apiKey: abroad.apiKey })).toMatchObject(
      refusal(404, 'space_not_found'),
    );
    const theirs = await maker.connector(abroad, await maker.collection(abroad));
    expect(await send('GET', `/${theirs}`)).toMatchObject(refusal(404, 'connector_not_found'));
    const path = `/v1/spaces/${here.spaceId}/collections/${await maker.collection(here)}/connectors/${id}`;
    expect(await gateway.send({ method: 'GET', path, apiKey: here.apiKey })).toMatchObject(
      refusal(404, 'connector_not_found'),
    );
  });
});

describe('a change of a connector', () => {
  it('names the field of a scope that is not right', async () => {
    const id = await created();
    const changed = (scope_config: object) => send('PATCH', `/${id}`, { scope_config });
    expect(await changed({ root: 1 })).toMatchObject(
      refusal(422, 'invalid_request', {
        param: 'scope_config.root',
        message: '`scope_config.root` must be a text; a number was sent.',
      }),
    );
    expect(await changed({ root: 'files', colour: 1 })).toMatchObject(
      refusal(422, 'unknown_parameter', {
        param: 'scope_config.colour',
        message: '`scope_config.colour` is not known; known are root, path, include, exclude.',
      }),
    );
  });

  it('pauses it with its queued run, and resumes it after a check of its source', async () => {
    const { id, source } = await scripted();
    expect((await send('PATCH', `/${id}`, { status: 'paused' })).body.data).toMatchObject({
      status: 'paused',
      next_runs: [],
    });
    expect((await send('GET', `/${id}/sync`)).body.data).toMatchObject([{ status: 'cancelled' }]);
    expect(await send('POST', `/${id}/sync`)).toMatchObject(refusal(409, 'invalid_state'));
    expect(source.take('check')).toEqual([]);
    expect((await send('PATCH', `/${id}`, { status: 'active' })).body.data.status).toBe('active');
    expect(source.take('check')).toEqual(['check']);
    expect((await send('GET', `/${id}/sync?limit=1`)).body.data).toMatchObject([
      { status: 'queued', metadata: { trigger: 'config_change' } },
    ]);
    expect(await eventTypesOf(admin, id)).toEqual(
      expect.arrayContaining([
        'collection.connector_created',
        'collection.connector_paused',
        'collection.sync_cancelled',
        'collection.connector_resumed',
      ]),
    );
  });

  it('is refused with the sentence of a source that cannot be read, and changes nothing', async () => {
    const { id, source } = await scripted();
    await send('PATCH', `/${id}`, { status: 'paused' });
    source.before = () => {
      throw new SourceFailure('auth_failed', 'The source refuses access.');
    };
    expect(await send('PATCH', `/${id}`, { status: 'active' })).toMatchObject(
      refusal(409, 'connector_check_failed', { message: 'auth_failed: The source refuses access.' }),
    );
    expect((await send('GET', `/${id}`)).body.data.status).toBe('paused');
    const moved = await send('PATCH', `/${id}`, { scope_config: { name: 'nowhere', note: 'x' } });
    expect(moved.status).toBe(200);
    memory.set('broken', source);
    expect(await send('PATCH', `/${id}`, { scope_config: { name: 'broken' } })).toMatchObject(
      refusal(409, 'connector_check_failed'),
    );
    expect((await send('GET', `/${id}`)).body.data.scope_config).toEqual({ name: 'nowhere', note: 'x' });
  });

  it('of the schedule alone asks no source, and is no change of the scope', async () => {
    const id = await created(folder({ sync_schedule: { type: 'manual' } }));
    const sync_schedule = { type: 'cron', expression: '0 3 * * *', timezone: 'Europe/Berlin' };
    const changed = await send('PATCH', `/${id}`, { sync_schedule });
    expect(changed.body.data.sync_schedule).toEqual(sync_schedule);
    expect(changed.body.data.next_runs).toHaveLength(5);
    const again = await send('PATCH', `/${id}`, {
      sync_schedule: { timezone: 'Europe/Berlin', expression: '0 3 * * *', type: 'cron' },
    });
    expect(again.body.data.updated_at).toBe(changed.body.data.updated_at);
    expect((await send('GET', `/${id}/sync`)).body.data).toEqual([]);
  });

  it('sets no status but active and paused, and none while it is being deleted', async () => {
    const id = await created();
    expect(await send('PATCH', `/${id}`, { status: 'error' })).toMatchObject(
      refusal(422, 'invalid_request', { param: 'status' }),
    );
    await send('DELETE', `/${id}`);
    expect(await send('PATCH', `/${id}`, { status: 'paused' })).toMatchObject(refusal(409, 'invalid_state'));
    expect(await send('POST', `/${id}/sync`)).toMatchObject(refusal(409, 'invalid_state'));
  });

  it('is refused when the connector has changed during its check', async () => {
    const { id, source } = await scripted();
    await send('PATCH', `/${id}`, { status: 'paused' });
    source.before = async () => {
      source.before = () => {};
      await send('PATCH', `/${id}`, { scope_config: { name: 'elsewhere' } });
    };
    expect(await send('PATCH', `/${id}`, { status: 'active' })).toMatchObject(
      refusal(409, 'invalid_state', { message: 'The connector was changed during its check; try again.' }),
    );
    expect((await send('GET', `/${id}`)).body.data).toMatchObject({
      status: 'paused',
      scope_config: { name: 'elsewhere' },
    });
  });
});

describe('a check', () => {
  it('says whether the source can be read, and stores nothing', async () => {
    const before = (await send('GET', '?limit=1')).body.data[0].id;
    memory.set('well', new MemorySource());
    const check = (body: object) => send('POST', '/check', body);
    expect(await check({ provider_slug: 'memory', scope_config: { name: 'well' } })).toMatchObject({
      status: 200,
      body: { data: { ok: true, code: null, message: null } },
    });
    const missing = await check(folder({ scope_config: { root: 'attic' } }));
    expect(missing).toMatchObject({
      status: 200,
      body: { data: { ok: false, code: 'source_unreachable' } },
    });
    const faulty = new MemorySource();
    faulty.before = () => {
      throw new TypeError('password=hunter2');
    };
    memory.set('faulty', faulty);
    const fault = await check({ provider_slug: 'memory', scope_config: { name: 'faulty' } });
    expect(fault).toMatchObject({ status: 200, body: { data: { ok: false, code: 'internal_error' } } });
    expect(fault.text).not.toContain('hunter2');
    expect((await send('GET', '?limit=1')).body.data[0].id).toBe(before);
  });
});

describe('the providers', () => {
  it('are listed with the form of their scope', async () => {
    const path = '/v1/connector-providers';
    const { body } = await gateway.send({ method: 'GET', path, apiKey: here.apiKey });
    const found = body.data.find((each: { slug: string }) => each.slug === 'filesystem');
    expect(found).toMatchObject({ credential_kinds: [], credential_required: false, beta: false });
    expect(Object.keys(found.scope_schema.properties)).toContain('root');
    expect(body.meta).toEqual({ next_cursor: null, has_more: false });
  });
});

describe('a run', () => {
  it('is queued once however often it is requested, takes up what a further request asks for, and is cancelled', async () => {
    const id = await created(folder({ sync_schedule: { type: 'manual' } }));
    const first = await send('POST', `/${id}/sync`);
    expect(first).toMatchObject({
      status: 202,
      body: { data: { collection_connector_id: id, status: 'queued' } },
    });
    const second = await send('POST', `/${id}/sync`, { mode: 'full', confirm_deletions: true });
    expect(second.status).toBe(202);
    expect(second.body.data).toMatchObject({ id: first.body.data.id, metadata: { mode: 'full' } });
    expect((await send('GET', `/${id}/sync`)).body.data).toHaveLength(1);
    const run = `/${id}/sync/${first.body.data.id}`;
    const cancelled = await send('POST', `${run}/cancel`);
    expect(cancelled.body.data.status).toBe('cancelled');
    expect(cancelled.body.data.completed_at).not.toBeNull();
    expect((await send('POST', `${run}/cancel`)).body.data).toEqual(cancelled.body.data);
    const third = await send('POST', `/${id}/sync`);
    expect(third.body.data.id).not.toBe(first.body.data.id);
    expect(await send('POST', `/${id}/sync`, { mode: 'quick' })).toMatchObject(
      refusal(422, 'invalid_request', { param: 'mode' }),
    );
    expect(await send('GET', `/${id}/sync/${newId()}`)).toMatchObject(refusal(404, 'sync_run_not_found'));
  });

  it('that has ended is one event of a stream, the same as the record, which no reader fetches again', async () => {
    const id = await created();
    const { id: runId } = (await send('GET', `/${id}/sync`)).body.data[0];
    await send('POST', `/${id}/sync/${runId}/cancel`);
    const polled = await send('GET', `/${id}/sync/${runId}`);
    const headers = { accept: 'text/event-stream' };
    const streamed = await send('GET', `/${id}/sync/${runId}`, undefined, { headers });
    expect(streamed.headers['content-type']).toContain('text/event-stream');
    const [, event, done] = streamed.text.split('\n\n');
    const [eventId, type, line] = event!.split('\n');
    expect([eventId, type]).toEqual([`id: ${runId}:cancelled`, 'event: sync_run']);
    expect(JSON.parse(line!.slice('data: '.length))).toEqual(polled.body.data);
    expect(done).toBe('data: [DONE]');
    const again = await send('GET', `/${id}/sync/${runId}`, undefined, {
      headers: { ...headers, 'last-event-id': `${runId}:cancelled` },
    });
    expect(again.status).toBe(204);
  });

  it('is followed until it ends', async () => {
    const id = await created();
    const { id: runId } = (await send('GET', `/${id}/sync`)).body.data[0];
    const path = `/${id}/sync/${runId}`;
    const following = send('GET', path, undefined, { headers: { accept: 'text/event-stream' } });
    await new Promise((resolve) => setTimeout(resolve, 300));
    await send('POST', `${path}/cancel`);
    const { text } = await following;
    const statuses = [...text.matchAll(/^data: (\{.*\})$/gm)].map(
      ([, line]) => (JSON.parse(line!) as { status: string }).status,
    );
    expect(statuses).toEqual(['queued', 'cancelled']);
    expect(gateway.gateway.openStreams.size).toBe(0);
  });
});

it('shows each document of the source with its state, error and version there', async () => {
  const id = await created();
  await admin.query(
    `insert into source_documents (tenant_id, id, connector_id, ref, name, version, state, error_code, listing)
     values ($1, uuidv7(), $2, 'a', 'a.md', '"etag-1"', 'skipped', 'too_large', 1),
            ($1, uuidv7(), $2, 'b', 'b.md', null, 'failed', 'source_unreachable', 1)`,
    [here.tenantId, id],
  );
  const { body } = await send('GET', `/${id}/documents`);
  expect(body.data).toMatchObject([
    { ref: 'b', state: 'failed', error_code: 'source_unreachable', version: null },
    { ref: 'a', state: 'skipped', error_code: 'too_large', version: '"etag-1"' },
  ]);
});

describe('a deletion', () => {
  it('answers 202 with the record, cancels the queued run, and repeating it changes nothing', async () => {
    const id = await created();
    const first = await send('DELETE', `/${id}?retain_documents=true`);
    expect(first).toMatchObject({ status: 202, body: { data: { id, status: 'deleting', next_runs: [] } } });
    expect((await send('DELETE', `/${id}`)).body.data).toEqual(first.body.data);
    expect((await send('GET', `/${id}/sync`)).body.data).toMatchObject([{ status: 'cancelled' }]);
    expect(await send('DELETE', `/${id}?retain_documents=maybe`)).toMatchObject(
      refusal(422, 'invalid_request', { param: 'retain_documents' }),
    );
  });
});
