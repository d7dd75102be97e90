import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startModelServer, type ModelServer } from '../support/model-server.ts';
import { ResponsesClient } from '../support/responses-client.ts';
import { splitFrames } from '../support/sse-frames.ts';
import { arrivalOf, recordSegment } from '../support/sse-recorder.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { createWorld, scriptedModel, type World } from '../support/world.ts';

const retentionSeconds = 9;
const content = ['responses', 'stream_runs', 'turns', 'turn_attempts', 'response_context', 'items'];

describe('retention', () => {
  let database: TestDatabase;
  let models: ModelServer;
  let world: World;
  let stack: Stack;
  let client: ResponsesClient;

  beforeAll(async () => {
    models = await startModelServer([
      { name: 'endless', text: 'On and on it goes. '.repeat(400), tokenDelayMs: 60 },
      { name: 'plain', text: 'Done.' },
    ]);
    database = await createTestDatabase();
    world = await createWorld(database.unitOfWork, [
      scriptedModel(models, 'endless'),
      scriptedModel(models, 'plain'),
    ]);
    stack = await startStack({
      database,
      env: {
        EGRESS_ALLOW: new URL(models.url).origin,
        RESPONSE_RETENTION_SECONDS: String(retentionSeconds),
        SWEEP_INTERVAL_SECONDS: '3',
      },
    });
    client = new ResponsesClient(world, () => stack.gateways[0]!);
    const warm = await client.create({ input: { text: 'Warm up.' }, tools: [] });
    await client.ended(warm.data.id);
  });

  afterAll(async () => {
    await stack?.stop();
    await models?.stop();
    await database?.drop();
  });

  // Repeated once on a machine too slow for the reads of the last second.
  it('ends at its second on every path, an attached stream included', { retry: 2 }, async () => {
    const attempt = newId();
    const create = (model: string, key: string) =>
      client.create({ input: { text: 'Go.' }, model, tools: [] }, { 'Idempotency-Key': key });
    const [done, running, toCancel, toDelete] = await Promise.all(
      ['plain', 'endless', 'endless', 'plain'].map(
        async (model, i) => (await create(model, `go-${i}-${attempt}`)).data,
      ),
    );
    const repeat = () => create('plain', `go-0-${attempt}`);
    await client.ended(done!.id);
    await client.writing(running!.id);
    const attached = recordSegment({ url: client.url(`/${running!.id}`), headers: client.headers });
    const chain = () => client.create({ input: { text: 'And?' }, tools: [], previous_response_id: done!.id });
    const reads = [
      `/${done!.id}`,
      `/${done!.id}?stream=true`,
      `/${done!.id}/input_items`,
      `/${done!.id}/events`,
      `/${running!.id}`,
      `/../openai/responses/${done!.id}`,
    ];
    /** Each path's status, or code where it is refused. */
    const paths = async () => {
      const [page, ...got] = await Promise.all([
        client.call<{ id: string }[]>('?limit=50'),
        ...reads.map((path) => codeOf(path)),
      ]);
      return [...got, page.data.some(({ id }) => id === done!.id)];
    };
    const codeOf = async (path: string, method: 'GET' | 'POST' | 'DELETE' = 'GET') => {
      const answer = await fetch(client.url(path), { method, headers: client.headers });
      const text = await answer.text();
      if (answer.ok) return answer.status;
      return `${answer.status} ${(JSON.parse(text) as { error: { code: string } }).error.code}`;
    };
    const first = Date.parse(done!.expires_at);
    const last = Date.parse(toDelete!.expires_at);
    expect(first - Date.parse(done!.created_at)).toBe(retentionSeconds * 1_000);

    // A repeat is a write and then a read, both of which must end in time.
    await sleep(first - 2_500 - Date.now());
    const repeating = repeat();
    await sleep(first - 1_000 - Date.now());
    const [before, cancelled, chained, repeated] = await Promise.all([
      paths(),
      codeOf(`/${toCancel!.id}/cancel`, 'POST'),
      chain(),
      repeating,
    ]);
    expect(before).toEqual([...reads.map(() => 200), true]);
    expect(cancelled).toBe(200);
    expect(chained.status).toBe(202);
    expect(repeated).toMatchObject({ status: 200, data: { id: done!.id } });
    expect(repeated.headers.get('idempotent-replayed')).toBe('true');

    await sleep(Math.max(first, last) + 1_000 - Date.now());
    expect(await paths()).toEqual([...reads.map(() => '404 response_expired'), false]);
    expect(await codeOf(`/${toCancel!.id}/cancel`, 'POST')).toBe('404 response_expired');
    expect(await codeOf(`/${toDelete!.id}`, 'DELETE')).toBe('404 response_expired');
    expect((await chain()).error).toMatchObject({ code: 'previous_response_not_found' });
    // The key outlives its response, so that a late repeat makes no second one.
    expect(await repeat()).toMatchObject({ status: 404, error: { code: 'response_expired' } });

    const segment = await attached;
    const { frames } = splitFrames(segment.bytes);
    expect(frames.at(-1)).toMatchObject({ id: null, event: 'error' });
    expect(frames.at(-1)?.json).toMatchObject({ error: { code: 'response_expired' } });
    const cutAt = performance.timeOrigin + arrivalOf(segment, segment.bytes.length)!;
    expect(Math.abs(cutAt - Date.parse(running!.expires_at))).toBeLessThan(1_000);
  });

  it('purges the content of expired and deleted responses, and keeps their usage', async () => {
    const { data: expiring } = await client.create({ input: { text: 'Go.' }, tools: [] });
    const { data: deleted } = await client.create({ input: { text: 'Go.' }, model: 'endless', tools: [] });
    await Promise.all([client.ended(expiring.id), client.writing(deleted.id)]);
    expect((await client.call(`/${deleted.id}`, { method: 'DELETE' })).status).toBe(200);
    const admin = new Client({ connectionString: database.adminUrl });
    await admin.connect();
    const left = async (id: string) => {
      const counts = await Promise.all(
        content.map(async (table) => {
          const column = table === 'responses' ? 'id' : 'response_id';
          const { rows } = await admin.query(`select from ${table} where ${column} = $1`, [id]);
          return rows.length;
        }),
      );
      return counts.reduce((sum, count) => sum + count, 0);
    };
    expect(await left(expiring.id)).toBeGreaterThan(4);
    for (let waitedMs = 0; (await left(expiring.id)) + (await left(deleted.id)) > 0; waitedMs += 500) {
      expect(waitedMs).toBeLessThan(40_000);
      await sleep(500);
    }
    const usage = await admin.query(
      'select response_id from usage_ledger where response_id = any($1) and settled',
      [[expiring.id, deleted.id]],
    );
    expect(new Set(usage.rows.map((row: { response_id: string }) => row.response_id)).size).toBe(2);
    await admin.end();
  });
});
