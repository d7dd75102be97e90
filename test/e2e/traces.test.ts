import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { formatUsd } from '#domain/capabilities/models/pricing.ts';
import type { ResponseRecord } from '#domain/responses/record/response-record.ts';
import { allowModels } from '#domain/workspace/spaces/allow-models.ts';
import { createSpace } from '#domain/workspace/spaces/create-space.ts';
import { ResponsesClient } from '../support/responses-client.ts';
import { startToolServer, type ToolServer } from '../support/tool-servers.ts';
import { openToolWorld, type ToolWorld } from '../support/tool-world.ts';
import { startTraceReceiver, type Arrival, type TraceReceiver } from '../support/trace-receiver.ts';

const secrets = { here: 'sk-canary-here-1c9f', beside: 'sk-canary-beside-77ab' };
const question = 'Where is the canary-question?';
const scripts = [
  { name: 'plain', text: 'A canary-answer.' },
  {
    name: 'works',
    text: 'It is in the box.',
    calls: [
      [
        { name: 'mcp__box__lookup', arguments: { item: 'canary-argument' } },
        { name: 'mcp__box__break', arguments: {} },
      ],
    ],
  },
  { name: 'broken', text: 'Never.', fail: [{ status: 400 as const, message: 'canary-vendor' }] },
];

let here: TraceReceiver;
let beside: TraceReceiver;
let box: ToolServer;
let tools: ToolWorld;
let neighbour: ResponsesClient;
let neighbourId: string;

beforeAll(async () => {
  [here, beside, box] = await Promise.all([startTraceReceiver(), startTraceReceiver(), startToolServer()]);
  tools = await openToolWorld({
    scripts,
    origins: [here.origin, beside.origin, box.origin],
    env: { TRACING_BASE_URL: beside.url },
  });
  await tools.update(await tools.register('box', box.url), { enabled_tools: ['lookup', 'break'] });
  const { tenantId, owner, modelIds, apiKey } = tools.world;
  neighbourId = await tools.database.unitOfWork.inTenant(tenantId, async (em) => {
    const space = await createSpace(em, owner, { name: 'Next door' });
    await allowModels(em, owner, { space, modelIds, defaultModelId: modelIds.at(-1)! });
    return space.id;
  });
  neighbour = new ResponsesClient({ apiKey, spaceId: neighbourId }, () => tools.stack.gateways[0]!);
});
afterAll(async () => {
  await tools?.stop();
  await Promise.all([here, beside, box].map((each) => each?.stop()));
});

function config(method: string, spaceId: string, body?: object): Promise<Response> {
  return fetch(`${tools.stack.gateways[0]!.url}/api/v1/spaces/${spaceId}/observability/config`, {
    method,
    headers: { 'x-api-key': tools.world.apiKey, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
}

async function configure(spaceId: string, body: object): Promise<Record<string, unknown>> {
  const answer = await config('PUT', spaceId, body);
  const said = await answer.text();
  expect(answer.status, said).toBe(200);
  return (JSON.parse(said) as { data: Record<string, unknown> }).data;
}

async function ask(model: string, client = tools.client): Promise<ResponseRecord> {
  const made = await client.create({ input: { text: question }, model }, { prefer: 'wait=30' });
  expect(made.status).toBe(200);
  return made.data;
}

const traceOf = ({ platform }: ResponseRecord): string => platform.tracing_trace_id ?? '';
const of = (receiver: TraceReceiver, record: ResponseRecord): Arrival[] =>
  receiver.arrivals.filter(({ spans }) => spans[0]?.traceId === traceOf(record));

/** The exports of a response once there are that many. */
async function arrived(receiver: TraceReceiver, record: ResponseRecord, count = 1): Promise<Arrival[]> {
  for (const deadline = Date.now() + 20_000; of(receiver, record).length < count; await sleep(50)) {
    if (Date.now() > deadline) throw new Error('The trace did not come.');
  }
  return of(receiver, record);
}

const workflow = (record: ResponseRecord) =>
  tools.stack.temporal.workflow.getHandle(`trace/${tools.world.tenantId}/${record.id}`);

describe('the responses of a space without tracing', () => {
  it('are not traced', async () => {
    const record = await ask('plain');
    expect(record.platform.tracing_trace_id).toBeNull();
    expect(record.platform.governance_applied).not.toHaveProperty('traced');
    const { rows } = await tools.admin.query(`select from outbox where workflow_type = 'traceResponse'`);
    expect(rows).toEqual([]);
    await expect(workflow(record).describe()).rejects.toThrow();
  });
});

describe('a traced response', () => {
  it('is one trace: its turns as generations with usage and cost, its calls with how they ended', async () => {
    const shown = await configure(tools.world.spaceId, {
      tracing_public_key: 'pk-here',
      tracing_secret_key: secrets.here,
      tracing_project_id: { id: 7 },
      tracing_base_url: `${here.url}/tracing`,
    });
    expect(shown).toMatchObject({
      tracing_public_key: 'pk-here',
      tracing_project_id: { id: 7 },
      last_error: null,
    });
    const record = await ask('works');
    expect(record.status).toBe('completed');
    expect(traceOf(record)).toMatch(/^[0-9a-f]{32}$/);
    const [arrival] = await arrived(here, record);
    expect(arrival).toMatchObject({
      path: '/tracing/api/public/otel/v1/traces',
      credentials: `pk-here:${secrets.here}`,
      resource: { 'service.name': 'platform', 'tracing.project_id': '{"id":7}' },
    });
    const { spans } = arrival!;
    const [root, ...parts] = spans;
    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([traceOf(record)]));
    expect(root).toMatchObject({
      parentSpanId: null,
      name: 'response',
      status: 1,
      attributes: {
        'langfuse.user.id': tools.world.owner.principalId,
        'langfuse.trace.metadata.response_id': record.id,
        'langfuse.trace.metadata.status': 'completed',
      },
    });
    expect([root!.startMs, root!.endMs]).toEqual(
      [record.created_at, record.finished_at!].map((time) => Date.parse(time)),
    );
    for (const part of parts) {
      expect(part.parentSpanId).toBe(root!.spanId);
      expect(part.startMs).toBeGreaterThanOrEqual(root!.startMs);
      expect(part.endMs).toBeLessThanOrEqual(root!.endMs);
    }
    expect(parts.map(({ name, status, message }) => [name, status, message])).toEqual([
      ['turn 0', 1, null],
      ['turn 1', 1, null],
      ['mcp__box__lookup', 1, null],
      ['mcp__box__break', 2, 'failed'],
    ]);
    const generations = parts.slice(0, 2).map(({ attributes }) => attributes);
    const sum = (name: string) => generations.reduce((total, each) => total + Number(each[name]), 0);
    expect(generations[0]).toMatchObject({
      'langfuse.observation.type': 'generation',
      'langfuse.observation.model.name': 'works',
      'gen_ai.request.model': 'works',
    });
    expect(sum('gen_ai.usage.input_tokens')).toBe(record.usage.input_tokens);
    expect(sum('gen_ai.usage.output_tokens')).toBe(record.usage.output_tokens);
    expect(record.usage.output_tokens).toBeGreaterThan(0);
    const parsed = (name: string) =>
      generations.map((each) => JSON.parse(String(each[name])) as Record<string, number>);
    const cost = parsed('langfuse.observation.cost_details').reduce((all, { total = 0 }) => all + total, 0);
    expect(formatUsd(BigInt(Math.round(cost * 1e12)))).toBe(record.usage.cost_usd);
    expect(cost).toBeGreaterThan(0);
    for (const { total, ...kinds } of parsed('langfuse.observation.usage_details')) {
      expect(Object.values(kinds).reduce((all, each) => all + each, 0)).toBe(total);
    }
    expect(await workflow(record).result()).toEqual({ status: 'exported', reason: null });
    expect(of(here, record)).toHaveLength(1);
  });

  it('contains no prompt and no answer, not even when the model fails', async () => {
    const failed = await ask('broken');
    expect(failed.status).toBe('failed');
    const [arrival] = await arrived(here, failed);
    expect(arrival!.spans[0]).toMatchObject({ status: 2, message: failed.platform.failure_reason!.code });
    expect(arrival!.spans[1]).toMatchObject({ name: 'turn 0', status: 2 });
    await arrived(here, await ask('plain'));
    for (const { body } of here.arrivals) {
      expect(body).not.toContain('canary-');
    }
  });

  it('goes to the endpoint of its own space with that space’s keys, and to no other', async () => {
    await configure(neighbourId, {
      tracing_public_key: 'pk-beside',
      tracing_secret_key: secrets.beside,
    });
    here.arrivals.length = 0;
    const asked = await Promise.all(
      Array.from({ length: 12 }, async (_, i) => {
        const [receiver, client] = i % 2 === 0 ? [here, tools.client] : [beside, neighbour];
        return { receiver, record: await ask('plain', client) };
      }),
    );
    for (const { receiver, record } of asked) {
      await arrived(receiver, record);
    }
    expect(here.arrivals).toHaveLength(6);
    expect(beside.arrivals).toHaveLength(6);
    const keysOf = (receiver: TraceReceiver) => [
      ...new Set(receiver.arrivals.map(({ credentials }) => credentials)),
    ];
    expect([keysOf(here), keysOf(beside)]).toEqual([
      [`pk-here:${secrets.here}`],
      [`pk-beside:${secrets.beside}`],
    ]);
  });

  it('is neither slowed nor failed by an endpoint that hangs or refuses, and arrives complete once it is back', async () => {
    here.answer = 'never';
    const began = Date.now();
    const record = await ask('works');
    expect(record.status).toBe('completed');
    expect(Date.now() - began).toBeLessThan(8_000);
    await arrived(here, record);
    // The worker that waits for the answer is lost: another sends the same trace.
    await tools.stack.start('worker');
    expect(await tools.stack.workers[0]!.kill()).toBe('SIGKILL');
    here.answer = 503;
    await arrived(here, record, 2);
    here.answer = 200;
    expect(await workflow(record).result()).toEqual({ status: 'exported', reason: null });
    const sent = of(here, record);
    expect(sent.length).toBeGreaterThan(2);
    for (const { spans } of sent) {
      expect(spans).toEqual(sent[0]!.spans);
    }
  });

  it('is abandoned when its keys are refused, which the space’s administrators can see', async () => {
    here.answer = 401;
    const record = await ask('plain');
    expect(record.status).toBe('completed');
    await arrived(here, record);
    await expect(workflow(record).result()).rejects.toMatchObject({ cause: { type: 'trace_unauthorized' } });
    expect(of(here, record)).toHaveLength(1);
    const lastError = async () =>
      ((await (await config('GET', tools.world.spaceId)).json()) as { data: { last_error: string } }).data
        .last_error;
    expect(await lastError()).toBe('unauthorized');
    here.answer = 200;
    const next = await ask('plain');
    await arrived(here, next);
    expect(await workflow(next).result()).toEqual({ status: 'exported', reason: null });
    expect(await lastError()).toBeNull();
  });

  it('is not sent to an address that egress forbids, nor after the space has removed its keys', async () => {
    const stranger = await startTraceReceiver();
    const keys = { tracing_public_key: 'pk-here', tracing_secret_key: secrets.here };
    await configure(tools.world.spaceId, { ...keys, tracing_base_url: stranger.url });
    const refused = await ask('plain');
    await begun(refused);
    await expect(workflow(refused).result()).rejects.toMatchObject({
      cause: { type: 'trace_url_not_allowed' },
    });
    expect(stranger.arrivals).toEqual([]);
    await stranger.stop();
    expect((await config('DELETE', tools.world.spaceId)).status).toBe(200);
    expect((await config('GET', tools.world.spaceId)).status).toBe(404);
    expect((await ask('plain')).platform.tracing_trace_id).toBeNull();
    expect(await tools.eventTypes('space.observability')).toHaveLength(4);
  });
});

/** Waits until the export of a response has been begun. */
async function begun(record: ResponseRecord): Promise<void> {
  for (const deadline = Date.now() + 20_000; ; await sleep(50)) {
    const started = await workflow(record)
      .describe()
      .then(() => true)
      .catch(() => false);
    if (started) return;
    if (Date.now() > deadline) throw new Error('The export was never begun.');
  }
}

describe('the secret key', () => {
  it('appears nowhere: not in answers, events, rows, histories or logs', async () => {
    const keys = { tracing_public_key: 'pk-here', tracing_secret_key: secrets.here };
    const said = [
      await (await config('PUT', tools.world.spaceId, keys)).text(),
      await (await config('GET', tools.world.spaceId)).text(),
      await (
        await config('PUT', tools.world.spaceId, { ...keys, tracing_base_url: 'ftp://x', colour: 1 })
      ).text(),
      await (await config('PUT', tools.world.spaceId, { ...keys, tracing_base_url: 'ftp://x' })).text(),
      await (
        await config('PUT', tools.world.spaceId, { ...keys, tracing_secret_key: `${secrets.here}\u00e9` })
      ).text(),
    ];
    expect(said.slice(2).every((text) => text.includes('"error"'))).toBe(true);
    const { rows: tables } = await tools.admin.query<{ name: string }>(
      `select c.oid::regclass::text as name from pg_class c join pg_namespace s on s.oid = c.relnamespace
         where s.nspname = 'public' and c.relkind = 'r'`,
    );
    expect(tables.map(({ name }) => name)).toContain('observability_configs');
    for (const { name } of tables) {
      const { rows } = await tools.admin.query<{ row: string }>(
        `select to_jsonb(t)::text as row from ${name} t`,
      );
      said.push(...rows.map(({ row }) => row));
    }
    for await (const { workflowId } of tools.stack.temporal.workflow.list()) {
      const history = await tools.stack.temporal.workflow.getHandle(workflowId).fetchHistory();
      said.push(
        JSON.stringify(history).replaceAll(/"data":"([^"]*)"/g, (_all, data: string) =>
          Buffer.from(data, 'base64').toString(),
        ),
      );
    }
    const folder = inject('logFolder');
    for (const name of await readdir(folder)) {
      said.push(await readFile(join(folder, name), 'utf8'));
    }
    expect(said.some((text) => text.includes('pk-here'))).toBe(true);
    for (const secret of Object.values(secrets)) {
      const forms = [secret, Buffer.from(secret).toString('base64'), Buffer.from(secret).toString('hex')];
      forms.push(Buffer.from(`pk-here:${secret}`).toString('base64'));
      for (const form of forms) {
        expect(said.filter((text) => text.includes(form))).toEqual([]);
      }
    }
  });
});
