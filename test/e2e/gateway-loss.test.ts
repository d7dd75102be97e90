import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startModelServer, type ModelServer } from '../support/model-server.ts';
import { ResponsesClient, textOf } from '../support/responses-client.ts';
import { startStack, type Stack, type StackProcess } from '../support/stack.ts';
import { createWorld, scriptedModel, type World } from '../support/world.ts';

const text = 'The work of a gateway that has gone is done by whoever is left. '.repeat(3).trim();
const body = { input: { text: 'Who does the work?' }, tools: [] };

/** A client that retries, as clients do: after a refusal by a busy gateway or because its key is in use. */
async function createOnce(client: ResponsesClient, key: string) {
  for (;;) {
    const answer = await client.create(body, { 'Idempotency-Key': key });
    const seconds = answer.headers.get('retry-after');
    if (seconds === null) return answer;
    await sleep(Number(seconds) * 1_000);
  }
}

describe('a lost gateway', () => {
  let database: TestDatabase;
  let models: ModelServer;
  let world: World;
  let stack: Stack;
  let admin: Client;

  beforeAll(async () => {
    models = await startModelServer([{ name: 'plain', text }]);
    database = await createTestDatabase();
    admin = new Client({ connectionString: database.adminUrl });
    await admin.connect();
    world = await createWorld(database.unitOfWork, [scriptedModel(models, 'plain')]);
    stack = await startStack({
      database,
      armable: true,
      env: { EGRESS_ALLOW: new URL(models.url).origin },
    });
  });

  afterAll(async () => {
    await stack?.stop();
    await models?.stop();
    await admin?.end();
    await database?.drop();
  });

  const at = (gateway: StackProcess) => new ResponsesClient(world, () => gateway);
  const rows = async (sql: string, values: unknown[] = []) => (await admin.query(sql, values)).rows;

  it('that dies after its commit leaves a response that another process begins and ends', async () => {
    const [doomed] = stack.gateways.splice(0) as [StackProcess];
    await doomed.arm('create.after_commit');
    await expect(at(doomed).create(body)).rejects.toThrow('fetch failed');
    expect(await doomed.exited).toBe('SIGKILL');
    // No gateway is up: the start is in the outbox only, and only a worker can find it.
    const [accepted] = await rows('select id, tenant_id from responses');
    const deadline = Date.now() + 20_000;
    let head: { status: string } | undefined;
    do {
      [head] = await rows('select status from responses where id = $1', [accepted.id]);
    } while (head?.status !== 'completed' && Date.now() < deadline);
    expect(head?.status).toBe('completed');
    expect(await rows('select id from outbox')).toEqual([]);
    const survivor = await stack.start('gateway');
    expect(textOf(await at(survivor).read(accepted.id))).toBe(text);
  });

  it('that dies before its commit leaves nothing', async () => {
    const before = await rows('select count(*)::int as count from responses');
    const [doomed] = stack.gateways.splice(0) as [StackProcess];
    await doomed.arm('create.before_commit');
    await expect(at(doomed).create(body)).rejects.toThrow('fetch failed');
    expect(await doomed.exited).toBe('SIGKILL');
    expect(await rows('select count(*)::int as count from responses')).toEqual(before);
    expect(await rows('select id from outbox')).toEqual([]);
  });

  it('fifty equal requests with one key over two gateways make one response', async () => {
    const gateways = [await stack.start('gateway'), await stack.start('gateway')];
    const key = randomUUID();
    const before = await rows('select id from responses');
    models.reset();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) => createOnce(at(gateways[i % 2]!), key)),
    );
    const ids = new Set(answers.map((answer) => answer.data.id));
    expect(ids.size).toBe(1);
    expect(answers.filter((answer) => answer.status === 202)).toHaveLength(1);
    const replayed = answers.filter((answer) => answer.headers.get('Idempotent-Replayed') === 'true');
    expect(replayed).toHaveLength(49);
    expect(replayed.map((answer) => answer.status)).toEqual(replayed.map(() => 200));
    const [id] = ids;
    expect(await rows('select id from responses')).toHaveLength(before.length + 1);
    expect(await rows('select 1 from stream_runs where response_id = $1 and first_n = 0', [id])).toHaveLength(
      1,
    );
    await at(gateways[0]!).ended(id!);
    expect(models.requests).toHaveLength(1);
  });
});
