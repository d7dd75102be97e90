import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client as Postgres } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '#domain/foundation/kernel/ids.ts';
import type { ResponseRecord } from '#domain/responses/record/response-record.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startEmbeddingServer, type EmbeddingServer } from '../support/embedding-server.ts';
import { holderOf } from '../support/holder.ts';
import { startModelServer, type ModelServer } from '../support/model-server.ts';
import { followResponse } from '../support/sse-recorder.ts';
import { addOperator } from '../support/operators.ts';
import { startConfluence, type ConfluenceServer } from '../support/sources/confluence-server.ts';
import { startMcpSource, type McpSourceServer } from '../support/sources/mcp-server.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { startToolServer, type ToolServer } from '../support/tool-servers.ts';
import { addUsers } from '../support/notification-world.ts';
import { startTraceReceiver, type TraceReceiver } from '../support/trace-receiver.ts';
import { createWorld, scriptedModel, type World } from '../support/world.ts';
import { canaries, foundCanaries } from './canaries.ts';
import { toRecorded } from './history-json.ts';
import { activitiesOf, eventTypes, shownTexts, type RecordedHistory } from './history-reader.ts';

// No sentence comes twice: after a kill it would be taken for a repeat by the model.
const answer = Array.from(
  { length: 6 },
  (_, day) => `On day ${day + 1} the tide turned twice, says ${canaries.answer} [1].`,
).join(' ');
const slow = { text: answer, tokenDelayMs: 25 };
const scripts = [
  { name: 'plain', text: answer },
  { name: 'paced', ...slow },
  { name: 'cancelled', ...slow, tokenDelayMs: 200 },
  { name: 'late', ...slow, tokenDelayMs: 200 },
  {
    name: 'limited',
    text: answer,
    fail: [{ onAttempt: 1, status: 429, retryAfterSeconds: 1, message: canaries.vendor }],
  },
  { name: 'refused', text: answer, fail: [{ onAttempt: 1, status: 400, message: canaries.vendor }] },
  {
    name: 'tools',
    text: answer,
    commentary: `Let me look: ${canaries.commentary}.`,
    toolRounds: 3,
    callsPerRound: [1, 3, 1],
    toolQuery: [`tides ${canaries.query}`, 'moon', 'bulges', 'gravity'],
  },
  {
    name: 'server',
    text: answer,
    calls: [[{ name: 'mcp__box__lookup', arguments: { item: canaries.argument } }]],
  },
];
const offered: Record<string, string[]> = { tools: ['knowledge_search'], server: ['mcp__box__*'] };

/**
 * Real runs of every kind, searched for content. With `RECORD_HISTORIES=1` their histories become the
 * committed ones (`npm run record:histories`), which the replay test runs on later versions of the workflows.
 */
describe('histories of real runs', () => {
  let database: TestDatabase;
  let stack: Stack;
  let world: World;
  let models: ModelServer;
  let box: ToolServer;
  let receiver: TraceReceiver;
  let vectors: EmbeddingServer;
  let resources: McpSourceServer;
  let wiki: ConfluenceServer;
  let anchors: string;
  let folder: string;
  /** Everything that Temporal stores of a run and shows in its UI, by scenario. */
  const shown = new Map<string, string[]>();

  beforeAll(async () => {
    models = await startModelServer(scripts);
    box = await startToolServer();
    receiver = await startTraceReceiver();
    vectors = await startEmbeddingServer(8);
    database = await createTestDatabase();
    world = await createWorld(
      database.unitOfWork,
      scripts.map(({ name }) => scriptedModel(models, name)),
    );
    const admin = new Postgres({ connectionString: database.adminUrl });
    await admin.connect();
    await admin.query('update tenants set name = $1', [canaries.tenant]);
    await admin.query('update principals set name = $1, email = $2', [canaries.person, canaries.email]);
    await admin.end();
    resources = await startMcpSource({ subscribe: true, listChanged: true });
    wiki = await startConfluence();
    const origins = [
      new URL(models.url).origin,
      box.origin,
      receiver.origin,
      vectors.origin,
      resources.origin,
      wiki.origin,
    ];
    anchors = mkdtempSync(join(tmpdir(), 'anchors-'));
    folder = mkdtempSync(join(tmpdir(), 'histories-'));
    const env = {
      EGRESS_ALLOW: origins.join(','),
      CONNECTOR_ROOTS: `histories=${folder}`,
      SWEEP_INTERVAL_SECONDS: '2',
      ANCHOR_INTERVAL_SECONDS: '2',
      ANCHOR_FILE: join(anchors, 'heads.jsonl'),
    };
    stack = await startStack({ database, workers: 2, env });
  });

  afterAll(async () => {
    await stack?.stop();
    await models?.stop();
    await box?.stop();
    await receiver?.stop();
    await vectors?.stop();
    await resources?.close();
    await wiki?.close();
    await database?.drop();
    rmSync(anchors, { recursive: true, force: true });
    rmSync(folder, { recursive: true, force: true });
  });

  const space = () => `${stack.gateways[0]!.url}/api/v1/spaces/${world.spaceId}`;
  const headers = () => ({ 'X-API-Key': world.apiKey, 'Content-Type': 'application/json' });

  async function call<T>(path: string, body?: unknown, method = 'POST'): Promise<T> {
    const reply = await fetch(`${space()}${path}`, {
      headers: headers(),
      ...(body !== undefined && { method, body: JSON.stringify(body) }),
    });
    const json = (await reply.json()) as { data: T };
    expect({ status: reply.status, json }).toMatchObject({ status: expect.any(Number), json: { data: {} } });
    return json.data;
  }

  const question = (model: string) => ({
    model,
    input: { text: `Why are there tides? ${canaries.prompt}` },
    metadata: { note: canaries.metadata },
    tools: offered[model] ?? [],
    stream: true,
  });

  /** Follows a response to its end; `onDelta` is called at each text delta with how many there were. */
  async function ask(
    model: string,
    onDelta: (count: number, responseId: string) => void = () => undefined,
    platform: Record<string, unknown> = {},
  ): Promise<ResponseRecord> {
    let deltas = 0;
    const recording = await followResponse({
      request: () => ({
        url: `${space()}/responses`,
        method: 'POST',
        headers: headers(),
        body: { ...question(model), platform: { instructions: canaries.instructions, ...platform } },
      }),
      onFrame: ({ id, data }) => {
        if (id !== null && data?.includes('"response.output_text.delta"')) {
          deltas += 1;
          onDelta(deltas, id.slice(0, id.lastIndexOf(':')));
        }
      },
    });
    return call<ResponseRecord>(`/responses/${recording.responseId}`);
  }

  /** Waits for the run's end and searches everything that Temporal stores of it. */
  async function keep(name: string, workflowId: string): Promise<RecordedHistory> {
    // A cancelled or failed run says so.
    await stack.temporal.workflow
      .getHandle(workflowId)
      .result()
      .catch(() => undefined);
    return look(name, workflowId);
  }

  /** The same for a run that has not ended. */
  async function look(name: string, workflowId: string, runId?: string): Promise<RecordedHistory> {
    const handle = stack.temporal.workflow.getHandle(workflowId, runId);
    const history = toRecorded(await handle.fetchHistory());
    const described = await handle.describe();
    const details = await handle.query('__temporal_workflow_metadata');
    const { memo, searchAttributes } = described;
    const staticText = [await described.staticSummary(), await described.staticDetails()];
    shown.set(name, shownTexts([history, { memo, searchAttributes, staticText, details }]));
    if (process.env['RECORD_HISTORIES'] === '1') {
      writeFileSync(new URL(`./histories/${name}.json`, import.meta.url), portable(history));
    }
    return history;
  }

  const isStarted = (workflowId: string): Promise<boolean> =>
    stack.temporal.workflow
      .getHandle(workflowId)
      .describe()
      .then(
        () => true,
        () => false,
      );

  const response = (record: ResponseRecord) => `response/${world.tenantId}/${record.id}`;

  async function detailsOf(workflowId: string): Promise<string> {
    const metadata = await stack.temporal.workflow
      .getHandle(workflowId)
      .query<{ currentDetails?: string }>('__temporal_workflow_metadata');
    return metadata.currentDetails ?? '';
  }

  it('of a document', async () => {
    const { id: collectionId } = await call<{ id: string }>('/collections', { name: 'Sea' });
    const document = await call<{ id: string }>(`/collections/${collectionId}/documents`, {
      filename: `${canaries.filename}.md`,
      media_type: 'text/markdown',
      content: `# Tides\n\nThe moon and its gravity raise two bulges: tides. ${canaries.document}`,
    });
    const path = `/collections/${collectionId}/documents/${document.id}`;
    while ((await call<{ status: string }>(path)).status !== 'ready') {
      await sleep(50);
    }
    const history = await keep('document-at-once', `document/${world.tenantId}/${document.id}`);
    expect(activitiesOf(history).map(({ name }) => name)).toEqual(['extractDocument']);
    await expect
      .poll(() => detailsOf(`document/${world.tenantId}/${document.id}`))
      .toBe('Ready with 1 passages.');
  });

  const trpc = (path: string, input: object) =>
    fetch(`${stack.gateways[0]!.url}/api/trpc/${path}`, {
      method: 'POST',
      headers: headers(),
      body: JSON.stringify(input),
    });

  it('of a document that has failed and is retried', async () => {
    const { id: collectionId } = await call<{ id: string }>('/collections', { name: 'Torn' });
    const documents = `/collections/${collectionId}/documents`;
    const reply = await fetch(`${space()}${documents}/content?filename=${canaries.filename}.pdf`, {
      method: 'POST',
      headers: { ...headers(), 'Content-Type': 'application/octet-stream' },
      body: `%PDF-1.7\n${canaries.document}`,
    });
    const { data: document } = (await reply.json()) as { data: { id: string } };
    const isFailed = async () =>
      (await call<{ status: string }>(`${documents}/${document.id}`)).status === 'failed';
    await expect.poll(isFailed).toBe(true);
    const workflowId = `document/${world.tenantId}/${document.id}`;
    const handle = stack.temporal.workflow.getHandle(workflowId);
    await handle.result().catch(() => undefined);
    const { runId } = await handle.describe();
    const ref = { space_id: world.spaceId, collection_id: collectionId, document_id: document.id };
    expect((await trpc('documents.retry', ref)).status).toBe(200);
    await expect.poll(async () => (await handle.describe()).runId).not.toBe(runId);
    const history = await keep('document-retry', workflowId);
    expect(eventTypes(history).slice(0, 3)).toContain('WORKFLOW_EXECUTION_SIGNALED');
    expect(eventTypes(history).at(-1)).toBe('WORKFLOW_EXECUTION_FAILED');
  });

  it('of a document that is retried before its workflow has closed', async () => {
    const { id: collectionId } = await call<{ id: string }>('/collections', { name: 'Retried' });
    // Its passages wait until the signal has come.
    const admin = new Postgres({ connectionString: database.adminUrl });
    await admin.connect();
    await admin.query('begin; lock table chunks in share mode');
    const document = await call<{ id: string }>(`/collections/${collectionId}/documents`, {
      filename: `${canaries.filename}.md`,
      media_type: 'text/markdown',
      content: `# Tides\n\nThe moon raises two bulges. ${canaries.document}`,
    });
    const workflowId = `document/${world.tenantId}/${document.id}`;
    const handle = stack.temporal.workflow.getHandle(workflowId);
    const isReading = async () => (await handle.describe()).raw.pendingActivities?.length === 1;
    await expect.poll(() => isReading().catch(() => false)).toBe(true);
    const { runId } = await handle.describe();
    await handle.signal('retried', { id: newId() });
    await admin.query('commit');
    await admin.end();
    await handle.result();
    const history = await look('retried-document', workflowId, runId);
    expect(eventTypes(history)).toContain('WORKFLOW_EXECUTION_SIGNALED');
    expect(eventTypes(history).at(-1)).toBe('WORKFLOW_EXECUTION_CONTINUED_AS_NEW');
  });

  it('of a change of the embedding model', async () => {
    const reply = await fetch(`${stack.gateways[0]!.url}/api/v1/admin/embedding-models`, {
      method: 'POST',
      headers: headers(),
      body: JSON.stringify({
        alias: 'vectors',
        provider_kind: 'openai_compatible',
        provider_model: 'vectors',
        base_url: `${vectors.origin}/v1`,
        dims: 8,
      }),
    });
    const { data } = (await reply.json()) as { data: { id: string } };
    await call('/embedding', { model_id: data.id }, 'PUT');
    const workflowId = `embeddings/${world.tenantId}/${world.spaceId}`;
    await expect
      .poll(async () => (await call<{ model: { id: string } | null }>('/embedding')).model?.id, {
        timeout: 60_000,
      })
      .toBe(data.id);
    const history = await keep('model-change', workflowId);
    expect(new Set(activitiesOf(history).map(({ name }) => name))).toEqual(new Set(['embedSpace']));
    expect(vectors.requests.some(({ texts }) => texts.some((text) => text.includes(canaries.document)))).toBe(
      true,
    );
    await expect.poll(() => detailsOf(workflowId)).toBe('Every passage has its vector.');
  });

  it('of an answer without tools', async () => {
    const record = await ask('plain');
    expect(record).toMatchObject({ status: 'completed', output: [{ content: [{ text: answer }] }] });
    const history = await keep('no-tools', response(record));
    expect(activitiesOf(history)).toHaveLength(1);
    await expect.poll(() => detailsOf(response(record))).toBe('done');
  });

  it('of three tool rounds, one with calls side by side', async () => {
    const record = await ask('tools');
    expect(record.status).toBe('completed');
    expect(record.platform.tool_call_count).toBe(5);
    const history = await keep('tool-rounds', response(record));
    expect(activitiesOf(history)).toHaveLength(9);
  });

  it('of a tool server that is read, and of a call to it', async () => {
    const made = { slug: 'box', display_name: canaries.filename, url: box.url };
    const { mcp_server_config_id: id } = await call<{ mcp_server_config_id: string }>('/mcp-servers', made);
    interface Read {
      status: string;
      discovered_tools: { name: string; schema_hash: string }[];
    }
    let read: Read;
    while ((read = await call<Read>(`/mcp-servers/${id}`)).status === 'pending') {
      await sleep(50);
    }
    await keep('discovery', `mcp-server/${world.tenantId}/${id}/1`);
    const { name, schema_hash: hash } = read.discovered_tools.find((each) => each.name === 'lookup')!;
    await call(`/mcp-servers/${id}`, { enabled_tools: [{ name, schema_hash: hash }] }, 'PATCH');
    const record = await ask('server');
    expect(record.output[0]).toMatchObject({ output: `${canaries.argument} is in the box` });
    const history = await keep('server-tool', response(record));
    expect(activitiesOf(history).map(({ name }) => name)).toEqual(['runTurn', 'runCall', 'runTurn']);
  });

  it('of the export of a trace', async () => {
    const config = {
      tracing_public_key: 'pk-histories',
      tracing_secret_key: canaries.secret,
      tracing_base_url: receiver.url,
    };
    await call('/observability/config', config, 'PUT');
    const record = await ask('plain');
    const id = `trace/${world.tenantId}/${record.id}`;
    const started = () =>
      stack.temporal.workflow
        .getHandle(id)
        .describe()
        .then(
          () => true,
          () => false,
        );
    while (!(await started())) {
      await sleep(50);
    }
    const history = await keep('trace', id);
    expect(activitiesOf(history).map(({ name }) => name)).toEqual(['exportTrace']);
    expect(receiver.arrivals.map(({ credentials }) => credentials)).toEqual([
      `pk-histories:${canaries.secret}`,
    ]);
    const forget = { method: 'DELETE', headers: { 'X-API-Key': world.apiKey } };
    await fetch(`${space()}/observability/config`, forget);
  });

  it('of a connector and its runs', async () => {
    const { id: collectionId } = await call<{ id: string }>('/collections', { name: 'Folder' });
    const connectors = `/collections/${collectionId}/connectors`;
    writeFileSync(join(folder, `${canaries.filename}.md`), `# Tides\n\n${canaries.document}`);
    const made = { provider_slug: 'filesystem', scope_config: { root: 'histories' } };
    const { id } = await call<{ id: string }>(connectors, made);
    interface Run {
      id: string;
      status: string;
    }
    const finished = async (runId: string) => {
      const isOver = async () =>
        (await call<Run>(`${connectors}/${id}/sync/${runId}`)).status === 'completed';
      await expect.poll(isOver, { timeout: 60_000 }).toBe(true);
    };
    const first = await call<Run>(`${connectors}/${id}/sync`, {});
    await finished(first.id);
    rmSync(join(folder, `${canaries.filename}.md`));
    const second = await call<Run>(`${connectors}/${id}/sync`, {});
    await finished(second.id);
    const run = await keep('connector-run', `connector-sync/${world.tenantId}/${second.id}`);
    expect(activitiesOf(run).map(({ name }) => name)).toEqual([
      'checkSource',
      'fetchPages',
      'detectDeletions',
      'finishSync',
    ]);
    const actorId = `connector/${world.tenantId}/${id}`;
    await expect.poll(() => detailsOf(actorId)).toBe('Waits for a message: the connector is active.');
    const actor = await look('connector', actorId);
    expect(new Set(activitiesOf(actor).map(({ name }) => name))).toEqual(new Set(['planRun']));
  });

  it('of a run that reads groups of its source in steps', async () => {
    const { id: collectionId } = await call<{ id: string }>('/collections', { name: 'Wiki' });
    for (let n = 1; n <= 21; n += 1) wiki.members.set(`group-${n}`, []);
    await wiki.put(canaries.filename, canaries.document);
    let refused = 0;
    wiki.interfere((request, response) => {
      if (refused > 0 || request.url?.includes('/group?start=20') !== true) return false;
      refused += 1;
      response.writeHead(429, { 'retry-after': '1' }).end(canaries.vendor);
      return true;
    });
    const { origin, value: secret } = wiki.credential!;
    const { kind, ...value } = secret;
    const made = { name: 'Wiki', kind, origin, value };
    const { id: credentialId } = await call<{ id: string }>('/credentials', made);
    const connectors = `/collections/${collectionId}/connectors`;
    const { id } = await call<{ id: string }>(connectors, {
      provider_slug: 'confluence',
      scope_config: { base_url: `${wiki.origin}/wiki`, spaces: ['DOC'] },
      credential_id: credentialId,
      sync_schedule: null,
    });
    // The run of the connector's creation: a request while it runs queues another.
    const [run] = (await call<{ id: string }[]>(`${connectors}/${id}/sync`)) as [{ id: string }];
    const status = async () => (await call<{ status: string }>(`${connectors}/${id}/sync/${run.id}`)).status;
    await expect.poll(status, { timeout: 60_000 }).toBe('completed');
    const history = await keep('group-run', `connector-sync/${world.tenantId}/${run.id}`);
    const steps = activitiesOf(history).map(({ name, summary }) => ({ name, summary }));
    expect(steps.slice(0, 3)).toEqual([
      { name: 'checkSource', summary: 'check the source' },
      { name: 'checkSource', summary: 'groups, slice 2' },
      { name: 'fetchPages', summary: 'pages, slice 1' },
    ]);
  });

  it('of a connector whose source is watched', async () => {
    const { id: collectionId } = await call<{ id: string }>('/collections', { name: 'Server' });
    await resources.put(`${canaries.filename}.md`, `# Tides\n\n${canaries.document}`);
    const { origin, value: secret } = resources.credential!;
    const { kind, ...value } = secret;
    const { id: credentialId } = await call<{ id: string }>('/credentials', {
      name: 'Server',
      kind,
      origin,
      value,
    });
    const connectors = `/collections/${collectionId}/connectors`;
    const { id } = await call<{ id: string }>(connectors, {
      provider_slug: 'mcp',
      scope_config: resources.scopeConfig,
      sync_schedule: null,
      credential_id: credentialId,
    });
    const finished = (count: number) =>
      expect
        .poll(
          async () =>
            (await call<{ status: string }[]>(`${connectors}/${id}/sync`)).filter(
              ({ status }) => status === 'completed',
            ).length,
          { timeout: 60_000 },
        )
        .toBe(count);
    // Of its creation, and after the beginning of the watch.
    await finished(2);
    await resources.put(`${canaries.filename}.md`, `# Tides\n\n${canaries.document}, again.`);
    await finished(3);
    const actorId = `connector/${world.tenantId}/${id}`;
    const details = () => detailsOf(actorId);
    await expect
      .poll(details)
      .toBe('Waits for a message: the connector is active. Its source is watched for changes.');
    await call(`${connectors}/${id}`, { status: 'paused' }, 'PATCH');
    await expect.poll(details).toBe('Waits for a message: the connector is paused.');
    const actor = await look('watched-connector', actorId);
    const activities = activitiesOf(actor);
    expect(new Set(activities.map(({ name }) => name))).toEqual(new Set(['planRun', 'watchSource']));
    expect(activities.filter(({ name }) => name === 'watchSource')).toHaveLength(1);
  });

  it('of an event that is delivered to the members of a space', async () => {
    const admin = new Postgres({ connectionString: database.adminUrl });
    await admin.connect();
    await addUsers(admin, world, { count: 2_600, role: 'space_admin' });
    await admin.query('update spaces set name = $1', [canaries.filename]);
    const { id } = await call<{ id: string }>('/collections', { name: 'Gone soon' });
    await call(`/collections/${id}`, {}, 'DELETE');
    const { rows } = await admin.query<{ id: string }>(
      'select id from events where resource_id = $1 and event_type = $2',
      [id, 'collection.deleted'],
    );
    const workflowId = `notify/${world.tenantId}/${rows[0]!.id}`;
    while ((await admin.query('select from outbox where workflow_id = $1', [workflowId])).rowCount! > 0) {
      await sleep(50);
    }
    await keep('fan-out', workflowId);
    const received = await admin.query('select from notifications where event_id = $1', [rows[0]!.id]);
    await admin.end();
    expect(received.rowCount).toBe(2_600);
    await expect.poll(() => detailsOf(workflowId)).toBe('collection.deleted: all recipients notified');
  });

  it('of the erasure of a deleted collection', async () => {
    const { id } = await call<{ id: string }>('/collections', { name: 'Gone at once' });
    await call(`/collections/${id}`, {}, 'DELETE');
    const workflowId = `erasure/${world.tenantId}/collection/${id}`;
    while (!(await isStarted(workflowId))) {
      await sleep(50);
    }
    const kept = await keep('erasure', workflowId);
    expect(activitiesOf(kept).map(({ name }) => name)).toEqual(['eraseScopeSlice']);
    await expect.poll(() => detailsOf(workflowId)).toBe('The collection is erased.');
  });

  it('of the erasure of a deleted space', async () => {
    const send = (path: string, method: string, body?: object) =>
      fetch(`${stack.gateways[0]!.url}/api/v1/spaces${path}`, {
        method,
        headers: { 'X-API-Key': world.apiKey, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    const made = (await (await send('', 'POST', { name: canaries.filename })).json()) as {
      data: { id: string };
    };
    const { id } = made.data;
    expect((await send(`/${id}`, 'DELETE')).status).toBe(200);
    expect((await send(`/${id}`, 'GET')).status).toBe(404);
    const workflowId = `erasure/${world.tenantId}/space/${id}`;
    while (!(await isStarted(workflowId))) {
      await sleep(50);
    }
    const kept = await keep('space-erasure', workflowId);
    expect(new Set(activitiesOf(kept).map(({ name }) => name))).toEqual(
      new Set(['haltDeletedSpace', 'eraseScopeSlice']),
    );
    await expect.poll(() => detailsOf(workflowId)).toBe('The space is erased.');
  });

  it('of the erasure of a deleted principal', async () => {
    const send = (path: string, method: string, body?: object) =>
      fetch(`${stack.gateways[0]!.url}/api/v1/admin/principals${path}`, {
        method,
        headers: { 'X-API-Key': world.apiKey, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    const made = (await (await send('', 'POST', { type: 'user', name: canaries.filename })).json()) as {
      data: { id: string };
    };
    const { id } = made.data;
    expect((await send(`/${id}`, 'DELETE')).status).toBe(200);
    const workflowId = `erasure/${world.tenantId}/principal/${id}`;
    while (!(await isStarted(workflowId))) {
      await sleep(50);
    }
    const kept = await keep('principal-erasure', workflowId);
    const names = new Set(activitiesOf(kept).map(({ name }) => name));
    expect([...names]).toEqual(['haltDeletedPrincipal', 'eraseScopeSlice']);
    await expect.poll(() => detailsOf(workflowId)).toBe('The principal is erased.');
  });

  it('of the deletion of a tenant', async () => {
    const leaving = await createWorld(database.unitOfWork);
    const { apiKey } = await addOperator(database.unitOfWork);
    const path = `/api/v1/admin/tenants/${leaving.tenantId}?reason_code=test_cleanup&grace_seconds=0`;
    const reply = await fetch(stack.gateways[0]!.url + path, {
      method: 'DELETE',
      headers: { 'X-API-Key': apiKey },
    });
    expect(reply.status).toBe(202);
    const workflowId = `tenant-deletion/${leaving.tenantId}`;
    while (!(await isStarted(workflowId))) {
      await sleep(50);
    }
    const kept = await keep('tenant-deletion', workflowId);
    expect(new Set(activitiesOf(kept).map(({ name }) => name))).toEqual(
      new Set([
        'haltTenant',
        'nextDeletionStage',
        'stopTenantWork',
        'revokeExternal',
        'takeStock',
        'destroyTenantKeys',
        'eraseTenantRows',
        'deleteHistories',
        'verifyDeletion',
        'certifyDeletion',
      ]),
    );
  });

  it('of a vendor that answers with Retry-After', async () => {
    const record = await ask('limited');
    expect(record.status).toBe('completed');
    const history = await keep('vendor-retry', response(record));
    expect(activitiesOf(history)[0]?.attempt).toBe(2);
  });

  it('of a vendor that refuses for good, whose response and run fail with one code', async () => {
    const record = await ask('refused');
    expect(record).toMatchObject({
      status: 'failed',
      platform: { failure_reason: { code: 'model_error' } },
    });
    await keep('failure', response(record));
    const failed = stack.temporal.workflow.getHandle(response(record));
    await expect(failed.result()).rejects.toMatchObject({
      cause: { type: 'model_error', message: 'model_error', nonRetryable: true },
    });
    expect((await failed.describe()).status.name).toBe('FAILED');
  });

  it('of a cancel by API, whose current details show the turn while it runs', async () => {
    const running: Promise<string>[] = [];
    const record = await ask('cancelled', (count, id) => {
      if (count === 2) {
        const received = detailsOf(`response/${world.tenantId}/${id}`);
        running.push(received);
        void received.then(() => call(`/responses/${id}/cancel`, {}));
      }
    });
    expect(record.status).toBe('cancelled');
    expect(await Promise.all(running)).toEqual(['model turn 1 · cancelled']);
    const history = await keep('cancel', response(record));
    expect(eventTypes(history).at(-1)).toBe('WORKFLOW_EXECUTION_CANCELED');
  });

  it('of a deadline', async () => {
    const record = await ask('late', undefined, { timeout_seconds: 2 });
    expect(record).toMatchObject({
      status: 'incomplete',
      platform: { incomplete_reason: 'deadline_exceeded' },
    });
    await keep('deadline', response(record));
  });

  it('of a worker that is killed in the middle of the text', async () => {
    const kills: Promise<NodeJS.Signals | null>[] = [];
    const record = await ask('paced', (count, id) => {
      if (count === 5) {
        kills.push(killHolder(id));
      }
    });
    expect(await Promise.all(kills)).toEqual(['SIGKILL']);
    expect(record).toMatchObject({ status: 'completed', output: [{ content: [{ text: answer }] }] });
    const history = await keep('worker-kill', response(record));
    expect(activitiesOf(history)).toMatchObject([{ name: 'runTurn', attempt: 2 }]);
  });

  async function killHolder(responseId: string): Promise<NodeJS.Signals | null> {
    const holder = await holderOf(stack, { tenantId: world.tenantId, responseId });
    return holder.kill();
  }

  it.each([
    { of: 'sweep', name: 'anchorChains' },
    { of: 'sealing', name: 'sealEvents' },
  ])('of rounds of $name', async ({ of, name }) => {
    const workflowId = `upkeep/${name}`;
    const details = () => detailsOf(workflowId).catch(() => '');
    await expect.poll(details, { timeout: 20_000 }).toMatch(/^last round: \d+ done, failed rows 0$/);
    const activities = activitiesOf(await look(of, workflowId));
    expect(new Set(activities.map((activity) => activity.name))).toEqual(new Set([name]));
  });

  it('hold none of the canaries, though each of them went through', async () => {
    expect([...shown.keys()]).toHaveLength(25);
    expect(Object.fromEntries([...shown].map(([name, texts]) => [name, foundCanaries(texts)]))).toEqual(
      Object.fromEntries([...shown.keys()].map((name) => [name, []])),
    );
    const received = models.requests.map(({ body }) => JSON.stringify(body));
    const through = [canaries.prompt, canaries.instructions, canaries.commentary, canaries.query];
    const results = [canaries.document, canaries.filename, canaries.argument];
    for (const canary of [...through, ...results]) {
      expect(received.some((body) => body.includes(canary))).toBe(true);
    }
  });
});

/** The same events without the machine that recorded them. */
function portable(history: RecordedHistory): string {
  const checkout = fileURLToPath(new URL('../../', import.meta.url));
  const modules = `${realpathSync(`${checkout}node_modules`)}/`;
  const text = JSON.stringify(history, null, 1)
    .replaceAll(new RegExp(`\\d+@${hostname()}`, 'g'), 'process')
    .replaceAll(checkout, '')
    .replaceAll(modules, 'node_modules/');
  return `${text}\n`;
}
