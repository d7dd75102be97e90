import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { holderOf } from '../support/holder.ts';
import { startModelServer, type ModelServer, type RequestRecord } from '../support/model-server.ts';
import { ResponsesClient, textOf } from '../support/responses-client.ts';
import { splitFrames } from '../support/sse-frames.ts';
import { recordSegment } from '../support/sse-recorder.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { checkStream } from '../support/stream-checker.ts';
import type { Json } from '../support/stream-events.ts';
import { createWorld, scriptedModel, type World } from '../support/world.ts';

const text = Array.from({ length: 30 }, (_, i) => `Line ${i * 17 + 3} of a long answer.`).join(' ');
const scripts = [
  { name: 'slow', text, tokenDelayMs: 50 },
  { name: 'hung', text, fail: [{ hangAfterChars: 40 }] },
  { name: 'limited', text, fail: [{ onAttempt: 1, status: 429, retryAfterSeconds: 2 }] },
  { name: 'broken', text, fail: [{ status: 500 }] },
  { name: 'refused', text, fail: [{ status: 401, message: 'canary-of-the-vendor' }] },
  {
    name: 'dropped',
    text,
    tokenDelayMs: 10,
    fail: [
      { onAttempt: 1, dropAfterChars: 200 },
      { onAttempt: 2, errorAfterChars: 90 },
    ],
  },
];

describe('how a response ends', () => {
  let database: TestDatabase;
  let models: ModelServer;
  let world: World;
  let stack: Stack;
  let client: ResponsesClient;
  let admin: Client;

  beforeAll(async () => {
    models = await startModelServer(scripts);
    database = await createTestDatabase();
    admin = new Client({ connectionString: database.adminUrl });
    await admin.connect();
    world = await createWorld(
      database.unitOfWork,
      scripts.map(({ name }) => scriptedModel(models, name)),
    );
    stack = await startStack({ database, workers: 2, env: { EGRESS_ALLOW: new URL(models.url).origin } });
    client = new ResponsesClient(world, () => stack.gateways[0]!);
  });

  afterAll(async () => {
    await stack?.stop();
    await models?.stop();
    await admin?.end();
    await database?.drop();
  });

  const start = async (model: string, more: Json = {}) =>
    (await client.create({ input: { text: `Go, ${model}.` }, model, tools: [], ...more })).data;
  const requestsOf = (model: string): RequestRecord[] =>
    models.requests.filter(({ script }) => script === model);
  const follow = (id: string) => recordSegment({ url: client.url(`/${id}`), headers: client.headers });

  /** The model's record of the last request of the response: when the platform disconnected. */
  async function untilClosed(model: string, withinMs: number): Promise<void> {
    const since = performance.now();
    while (requestsOf(model).at(-1)?.outcome !== 'closed') {
      expect(performance.now() - since, 'the model call was not aborted in time').toBeLessThan(withinMs);
      await sleep(20);
    }
  }

  it('cancel stops the model within two seconds, keeps the text so far and is followed by no event', async () => {
    const { id } = await start('slow');
    const stream = follow(id);
    await client.writing(id);
    const cancelled = await client.call(`/${id}/cancel`, { method: 'POST' });
    expect(cancelled).toMatchObject({ status: 200, data: { status: 'cancelled' } });
    await untilClosed('slow', 2_000);
    const segment = await stream;
    const { frames } = splitFrames(segment.bytes);
    expect(frames.at(-2)).toMatchObject({ event: 'response.cancelled' });
    await sleep(1_500);
    const final = await client.read(id);
    expect(final).toMatchObject({ status: 'cancelled', output: [{ status: 'incomplete' }] });
    expect(text.startsWith(textOf(final))).toBe(true);
    expect(final.usage.output_tokens).toBeGreaterThan(0);
    expect(checkStream({ responseId: id, segments: [segment], final: final as unknown as Json })).toEqual([]);
    const again = await client.call(`/${id}/cancel`, { method: 'POST' });
    expect(again.data).toEqual(final);
    const handle = stack.temporal.workflow.getHandle(`response/${world.tenantId}/${id}`);
    await expect
      .poll(async () => (await handle.describe()).status.name, { timeout: 10_000 })
      .not.toBe('RUNNING');
  });

  it('cancel of an ended response is refused', async () => {
    const { id } = await start('limited');
    await client.ended(id);
    const late = await client.call(`/${id}/cancel`, { method: 'POST' });
    expect(late).toMatchObject({ status: 409, error: { code: 'response_not_cancellable' } });
  });

  it('delete ends a running one, notifies its readers and makes it inaccessible at once', async () => {
    const { id } = await start('slow');
    const stream = follow(id);
    await client.writing(id);
    const deleted = await client.call(`/${id}`, { method: 'DELETE' });
    expect(deleted).toMatchObject({ status: 200, data: { id, object: 'response.deleted', deleted: true } });
    for (const path of ['', '?stream=true', '/input_items', '/events']) {
      const gone = await client.call(`/${id}${path}`);
      expect(gone).toMatchObject({ status: 404, error: { code: 'response_deleted' } });
    }
    expect((await client.call(`/${id}`, { method: 'DELETE' })).status).toBe(404);
    await untilClosed('slow', 2_000);
    const segment = await stream;
    expect(splitFrames(segment.bytes).frames.at(-2)).toMatchObject({ event: 'response.cancelled' });
    expect(checkStream({ responseId: id, segments: [segment] })).toEqual([]);
  });

  it('its deadline ends it incomplete, with the text so far', async () => {
    const { id } = await start('hung', { platform: { timeout_seconds: 2 } });
    const final = await client.ended(id, 8_000);
    expect(final).toMatchObject({
      status: 'incomplete',
      platform: { incomplete_reason: 'deadline_exceeded' },
      output: [{ status: 'incomplete' }],
    });
    expect(textOf(final).length).toBeGreaterThan(10);
    await untilClosed('hung', 2_500);
  });

  it('a vendor’s Retry-After is respected, and the answer is complete', async () => {
    models.reset();
    const { id } = await start('limited');
    expect(textOf(await client.ended(id))).toBe(text);
    const [first, second, ...more] = requestsOf('limited');
    expect(more).toEqual([]);
    expect(second!.at - first!.at).toBeGreaterThanOrEqual(2_000);
    expect(second!.at - first!.at).toBeLessThan(4_000);
  });

  it('a vendor that fails five times fails the response, and is not called a sixth time', async () => {
    const { id } = await start('broken');
    const final = await client.ended(id, 40_000);
    expect(final).toMatchObject({ status: 'failed', platform: { failure_reason: { code: 'model_error' } } });
    expect(requestsOf('broken')).toHaveLength(5);
    const { rows } = await admin.query('select outcome from turn_attempts where response_id = $1', [id]);
    expect(rows).toEqual(Array.from({ length: 5 }, () => ({ outcome: 'vendor_failed' })));
  });

  it("a vendor's refusal is not retried, and its text is not published", async () => {
    const { id } = await start('refused');
    const final = await client.ended(id);
    expect(final).toMatchObject({ status: 'failed', platform: { failure_reason: { code: 'model_error' } } });
    expect(requestsOf('refused')).toHaveLength(1);
    expect(JSON.stringify(final)).not.toContain('canary');
  });

  it('a vendor stream that breaks twice is continued where it broke', async () => {
    const { id } = await start('dropped');
    const final = await client.ended(id);
    expect(final.status).toBe('completed');
    expect(textOf(final)).toBe(text);
    expect(requestsOf('dropped').map(({ strategy }) => strategy)).toEqual(['fresh', 'instruct', 'instruct']);
  });

  it('a worker that is shut down hands over at once, which does not count as a crash', async () => {
    const { id } = await start('slow');
    const stream = follow(id);
    await client.writing(id);
    const worker = await holderOf(stack, { tenantId: world.tenantId, responseId: id });
    const asked = Date.now();
    expect(await worker.stop()).toBe(0);
    const segment = await stream;
    const final = await client.read(id);
    expect(textOf(final)).toBe(text);
    expect(checkStream({ responseId: id, segments: [segment], final: final as unknown as Json })).toEqual([]);
    const { rows } = await admin.query(
      'select outcome, continuation, started_at from turn_attempts where response_id = $1 order by attempt',
      [id],
    );
    expect(rows).toMatchObject([{ outcome: 'aborted' }, { outcome: 'committed', continuation: 'instruct' }]);
    // A second of grace, and then no more waiting.
    expect(rows[1].started_at.getTime() - asked).toBeLessThan(4_000);
  });
});
