import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { workflowIdOf } from '#domain/foundation/durable/workflow-types.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { sendOver, type Answer } from '../support/gateway.ts';
import { runPlatform } from '../support/platform-cli.ts';
import { startFilesystemServer, type FilesystemServer } from '../support/sources/filesystem-server.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { createWorld, type World } from '../support/world.ts';

let database: TestDatabase;
let stack: Stack;
let world: World;
let folder: FilesystemServer;
const gateway = sendOver(() => stack.gateways[0]!);

beforeAll(async () => {
  database = await createTestDatabase();
  folder = await startFilesystemServer();
  await folder.put('tides.md', 'High water is at noon.');
  await folder.put('beacons/blue.md', 'The beacon is blue.');
  stack = await startStack({ database, env: { CONNECTOR_ROOTS: `files=${folder.folder}` } });
  world = await createWorld(database.unitOfWork);
});
afterAll(async () => {
  await stack?.stop();
  await folder?.close();
  await database?.drop();
});

const send = (method: string, path: string, body?: object, headers = {}): Promise<Answer> =>
  gateway.send({
    method,
    path: `/v1/spaces/${world.spaceId}/collections${path}`,
    apiKey: world.apiKey,
    headers,
    ...(body && { body }),
  });

async function connected(within = ''): Promise<{ collection: string; connector: string; path: string }> {
  const collection = (await send('POST', '', { name: 'Harbours' })).body.data.id as string;
  const body = {
    provider_slug: 'filesystem',
    scope_config: { root: 'files', path: within },
    sync_schedule: { type: 'manual' },
  };
  const made = await send('POST', `/${collection}/connectors`, body);
  const connector = made.body.data.id as string;
  return { collection, connector, path: `/${collection}/connectors/${connector}` };
}

/** The records that a stream of a run has sent. */
async function followed(path: string): Promise<Record<string, unknown>[]> {
  const { text } = await send('GET', path, undefined, { accept: 'text/event-stream' });
  expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  return [...text.matchAll(/^data: (\{.*\})$/gm)].map(
    ([, line]) => JSON.parse(line!) as Record<string, unknown>,
  );
}

const filenames = async (collection: string): Promise<string[]> => {
  const { body } = await send('GET', `/${collection}/documents?limit=100`);
  return (body.data as { filename: string }[]).map(({ filename }) => filename).sort();
};

const gone = (path: string) =>
  expect.poll(async () => (await send('GET', path)).status, { timeout: 30_000, interval: 200 }).toBe(404);

describe('a connector over its whole life', () => {
  it('is followed through a run, whose last event is the record, and deletes its documents with itself', async () => {
    const { collection, path } = await connected();
    const run = (await send('POST', `${path}/sync`)).body.data.id as string;
    const records = await followed(`${path}/sync/${run}`);
    const { body: polled } = await send('GET', `${path}/sync/${run}`);
    expect(records.at(-1)).toEqual(polled.data);
    expect(polled.data).toMatchObject({
      status: 'completed',
      records_fetched: 2,
      error_message: null,
      metadata: { trigger: 'manual', mode: 'incremental', added: 2, deleted: 0, failed: 0, errors: [] },
    });
    expect(polled.data.metadata.workflow_id).toBe(`connector-sync/${world.tenantId}/${run}`);
    expect((await send('GET', path)).body.data).toMatchObject({
      status: 'active',
      last_synced_at: expect.any(String),
    });
    expect(await filenames(collection)).toEqual(['beacons/blue.md', 'tides.md']);
    const listed = await send('GET', `${path}/documents?state=stored`);
    expect(listed.body.data).toHaveLength(2);
    expect(listed.body.data[0]).toMatchObject({ state: 'stored', document_id: expect.any(String) });
    expect((await send('GET', `${path}/documents?state=failed`)).body.data).toEqual([]);

    expect((await send('DELETE', path)).status).toBe(202);
    await gone(path);
    expect(await filenames(collection)).toEqual([]);
  });

  it('has documents that wait for their vectors, without a warning of the worker at each attempt', async () => {
    const { path } = await connected();
    const run = (await send('POST', `${path}/sync`)).body.data.id as string;
    await followed(`${path}/sync/${run}`);
    const embedding = stack.temporal.workflow.getHandle(workflowIdOf('embedSpace', world));
    await expect
      .poll(async () => (await embedding.describe().catch(() => null))?.raw.pendingActivities?.[0]?.attempt)
      .toBeGreaterThan(2);
    const logs = await Promise.all(stack.workers.map(({ log }) => readFile(log, 'utf8')));
    expect(logs.join('')).toContain('"msg":"embedding model"');
    expect(logs.join('')).not.toContain('Activity failed');
    expect((await send('DELETE', path)).status).toBe(202);
    await gone(path);
  });

  it('is synchronised from the terminal, which shows the progress, and leaves its documents on request', async () => {
    const { collection, connector, path } = await connected('beacons');
    const env = { PLATFORM_URL: stack.gateways[0]!.url, PLATFORM_API_KEY: world.apiKey };
    const of = ['--space', world.spaceId, '--collection', collection];
    const sync = await runPlatform(
      ['connectors', 'sync', connector, ...of, '--wait', '--timeout', '30'],
      env,
    );
    expect(sync.code, sync.stderr).toBe(0);
    expect(sync.stderr).toMatch(/completed · 1( of 1)? documents/);
    expect(sync.stdout).toMatch(/^status: +completed$/m);

    await folder.move('beacons', 'away');
    const failed = await runPlatform(['connectors', 'sync', connector, ...of, '--wait'], env);
    await folder.move('away', 'beacons');
    expect(failed.code).toBe(1);
    expect(failed.stderr).toMatch(/The run is failed\. scope_invalid: /);
    const broken = await send('GET', path);
    expect(broken.body.data).toMatchObject({ status: 'error', status_reason: 'scope_invalid' });
    const resumed = await runPlatform(
      ['connectors', 'update', connector, ...of, '--status', 'active', '--json'],
      env,
    );
    expect(JSON.parse(resumed.stdout)).toMatchObject({ data: { status: 'active', status_reason: null } });

    const kept = await filenames(collection);
    expect(kept).toHaveLength(1);
    const deleted = await runPlatform(['connectors', 'delete', connector, ...of, '--retain-documents'], env);
    expect(deleted.stdout).toMatch(/^status: +deleting$/m);
    await gone(path);
    expect(await filenames(collection)).toEqual(kept);
  });
});
