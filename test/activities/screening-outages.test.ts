import type { ApplicationFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { runTurn } from '#activities/responses/run-turn.ts';
import { StreamWriter } from '#activities/responses/stream-writer.ts';
import type { ModelGateway, ModelPart } from '#domain/capabilities/models/model-gateway.ts';
import { TooBusy } from '#domain/foundation/kernel/fair-semaphore.ts';
import { newResponseId } from '#domain/foundation/kernel/ids.ts';
import { RecogniserBusy, type NameRecogniser } from '#domain/governance/redaction/found-names.ts';
import type { LongTextRedactor } from '#domain/governance/redaction/redact-texts.ts';
import { createResponse } from '#domain/responses/accept/create-response.ts';
import { cancelResponse } from '#domain/responses/end/cancel-response.ts';
import type { TurnResult } from '#domain/responses/record/turn-result.ts';
import { openEngine, requestOf, usage, type Engine } from '../support/engine.ts';
import { longTexts } from '../support/long-texts.ts';
import { noMetrics } from '../support/no-metrics.ts';
import { secrets } from '../support/world.ts';

const question = 'Why are there tides?';

let engine: Engine;
/** Ways to take part in a turn; each test changes what it needs. */
let said: ModelPart[];
let find: NameRecogniser['find'];
let redact: LongTextRedactor['redact'];
let afterModel: () => void;
/** Requests to the model. */
let asked: number;

const finish = (reason: 'stop' | 'tool_calls'): ModelPart => ({ type: 'finish', reason, usage });
const found: NameRecogniser['find'] = (_url, _language, texts) => Promise.resolve(texts.map(() => []));
const redacted: LongTextRedactor['redact'] = (...given) => longTexts.redact(...given);
const models: ModelGateway = {
  async *stream() {
    asked += 1;
    yield* said;
    afterModel();
  },
};

beforeAll(async () => {
  engine = await openEngine();
  const pii = { mode: 'redact', presidio_url: 'https://names.example.com' };
  await engine.admin.query('update spaces set policy = $1', [JSON.stringify({ version: 2, pii })]);
});
afterAll(() => engine.stop());
beforeEach(() => {
  said = [{ type: 'text', text: 'The moon.' }, finish('stop')];
  find = found;
  redact = redacted;
  afterModel = () => {};
  asked = 0;
});

async function accept(): Promise<string> {
  const responseId = newResponseId();
  const limits = { maxActivePerSpace: 10_000, retentionSeconds: 600 };
  const names = new Map([[question, []]]);
  await engine.act((ctx) => createResponse(ctx, requestOf(engine.world), { responseId, limits, names }));
  return responseId;
}

function attempt(responseId: string, environment = new MockActivityEnvironment()): Promise<TurnResult> {
  const { database, unitOfWork } = engine.database;
  const deps = {
    database,
    unitOfWork,
    secrets,
    names: { find: (...given: Parameters<typeof find>) => find(...given) },
    longTexts: { redact: (...given: Parameters<typeof redact>) => redact(...given) },
    pausesMs: [],
    models,
    metrics: noMetrics,
    writer: new StreamWriter(database),
  };
  const key = { tenantId: engine.world.tenantId, responseId, iteration: 0 };
  return environment.run(() => runTurn(deps, key));
}

it('calls that cannot be screened for a moment wait, and the model is not asked for them again', async () => {
  const id = await accept();
  said = [
    { type: 'text', text: 'I search.' },
    { type: 'tool_call', name: 'knowledge_search', arguments: '{"query":"Ada"}', state: null },
    finish('tool_calls'),
  ];
  let unanswered = 0;
  afterModel = () => (unanswered = 3);
  find = (...given) => (unanswered-- > 0 ? Promise.reject(new Error('fetch failed')) : found(...given));
  expect(await attempt(id)).toMatchObject({ next: 'tools', calls: [{ index: 0 }] });
  expect(unanswered).toBeLessThan(0);
  expect(asked).toBe(1);
  expect(await engine.record(id)).toMatchObject({ platform: { attempts: 1 } });
});

const outcomesOf = async (responseId: string) =>
  (
    await engine.admin.query<{ outcome: string }>(
      'select outcome from turn_attempts where response_id = $1 order by attempt',
      [responseId],
    )
  ).rows.map(({ outcome }) => outcome);

it.each([
  ['is away', () => (find = () => Promise.reject(new Error('fetch failed')))],
  ['has no place for the tenant', () => (find = () => Promise.reject(new RecogniserBusy()))],
])('a recogniser that %s for a dozen attempts at a turn delays its response only', async (_what, fail) => {
  const id = await accept();
  fail();
  const delays: unknown[] = [];
  for (let times = 0; times < 12; times += 1) {
    const failure = await attempt(id).then(String, (error: ApplicationFailure) => error);
    expect(failure).toMatchObject({ type: 'services_unavailable', nonRetryable: false });
    delays.push((failure as ApplicationFailure).nextRetryDelay);
  }
  expect(delays.slice(0, 7)).toEqual([500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
  expect(asked).toBe(0);
  find = found;
  expect(await attempt(id)).toMatchObject({ next: 'done', end: { status: 'completed' } });
  expect(await outcomesOf(id)).toEqual([...Array.from({ length: 12 }, () => 'aborted'), 'committed']);
  expect(asked).toBe(1);
  expect(await engine.record(id)).toMatchObject({
    output: [{ content: [{ text: 'The moon.' }] }],
    usage: { input_tokens: usage.inputTokens, output_tokens: usage.outputTokens },
  });
});

/** Makes the input so long that it is redacted in a thread. */
const lengthen = (responseId: string) =>
  engine.admin.query('update items set wire = replace(wire, $1, $2) where response_id = $3', [
    question,
    question.repeat(1_000),
    responseId,
  ]);

it('a long prompt for which no thread is free in time waits as well', async () => {
  const id = await accept();
  await lengthen(id);
  redact = () => Promise.reject(new TooBusy());
  await expect(attempt(id)).rejects.toMatchObject({ type: 'services_unavailable' });
  redact = redacted;
  expect(await attempt(id)).toMatchObject({ next: 'done', end: { status: 'completed' } });
  expect(await outcomesOf(id)).toEqual(['aborted', 'committed']);
});

it('a worker that shuts down while the recogniser is asked releases the turn without fault', async () => {
  const id = await accept();
  const environment = new MockActivityEnvironment();
  find = (_url, _language, _texts, { signal }) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error));
      environment.cancel('WORKER_SHUTDOWN');
    });
  await expect(attempt(id, environment)).rejects.toMatchObject({ type: 'worker_shutdown' });
  expect(await outcomesOf(id)).toEqual(['aborted']);
});

it('a worker that shuts down while no thread is free for a long prompt releases the turn at once', async () => {
  const id = await accept();
  await lengthen(id);
  const environment = new MockActivityEnvironment();
  redact = () => {
    environment.cancel('WORKER_SHUTDOWN');
    return new Promise(() => {});
  };
  await expect(attempt(id, environment)).rejects.toMatchObject({ type: 'worker_shutdown' });
  expect(await outcomesOf(id)).toEqual(['aborted']);
});

it('a worker that shuts down while no thread is free for long calls releases the turn at once', async () => {
  const id = await accept();
  const environment = new MockActivityEnvironment();
  const query = 'Ada '.repeat(10_000);
  said = [
    { type: 'tool_call', name: 'knowledge_search', arguments: JSON.stringify({ query }), state: null },
    finish('tool_calls'),
  ];
  redact = () => {
    environment.cancel('WORKER_SHUTDOWN');
    return new Promise(() => {});
  };
  await expect(attempt(id, environment)).rejects.toMatchObject({ type: 'worker_shutdown' });
  expect(asked).toBe(1);
  expect(await outcomesOf(id)).toEqual(['aborted']);
});

it('a response that ends while its prompt cannot be screened has used nothing', async () => {
  const id = await accept();
  const usages: unknown[] = [];
  find = async () => {
    await engine.act((ctx) => cancelResponse(ctx, { responseId: id }));
    usages.push((await engine.record(id)).usage);
    throw new Error('fetch failed');
  };
  await expect(attempt(id)).rejects.toMatchObject({ type: 'services_unavailable' });
  expect(usages).toMatchObject([{ input_tokens: 0, output_tokens: 0 }]);
  expect(await attempt(id)).toMatchObject({ next: 'done', end: { status: 'cancelled' } });
});

it('a response that ends after its prompt was sent has used the estimated input', async () => {
  const id = await accept();
  afterModel = () => {
    throw new Error('defect');
  };
  await expect(attempt(id)).rejects.toThrow('defect');
  await engine.act((ctx) => cancelResponse(ctx, { responseId: id }));
  expect((await engine.record(id)).usage.input_tokens).toBeGreaterThan(0);
});

it('a defect on the way to the model still counts as a crash', async () => {
  const id = await accept();
  await lengthen(id);
  redact = () => Promise.reject(new Error('defect'));
  await expect(attempt(id)).rejects.toThrow('defect');
  redact = redacted;
  await attempt(id);
  expect(await outcomesOf(id)).toEqual(['crashed', 'committed']);
});
