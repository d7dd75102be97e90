import type { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openGateway, type Answer, type TestGateway } from '../support/gateway.ts';
import { connect } from '../support/tables.ts';
import { createWorld, type World } from '../support/world.ts';

let database: TestDatabase;
let gateway: TestGateway;
let admin: Client;
let world: World;

beforeAll(async () => {
  database = await createTestDatabase();
  gateway = await openGateway(database);
  admin = await connect(database.adminUrl);
  world = await createWorld(database.unitOfWork);
});
afterAll(async () => {
  await gateway?.close();
  await admin?.end();
  await database?.drop();
});

const large = 900_000;

async function send(method: string, path: string, body?: object): Promise<Answer> {
  const answer = await gateway.send({
    method,
    path: `/v1/spaces/${world.spaceId}${path}`,
    apiKey: world.apiKey,
    ...(body === undefined ? {} : { body }),
  });
  expect(answer.status, answer.text.slice(0, 500)).toBeLessThan(300);
  return answer;
}

interface Walked {
  ids: string[];
  /** Entries of each page. */
  counts: number[];
}

async function walk(path: string): Promise<Walked> {
  const walked: Walked = { ids: [], counts: [] };
  for (let cursor: string | null = ''; cursor !== null;) {
    const { body, text } = await send('GET', `${path}?limit=100${cursor === '' ? '' : `&cursor=${cursor}`}`);
    expect(text.length).toBeLessThan(6 * 2 ** 20);
    walked.ids.push(...body.data.map((each: { id: string }) => each.id));
    walked.counts.push(body.data.length);
    cursor = body.meta.next_cursor as string | null;
    expect(body.meta.has_more).toBe(cursor !== null);
  }
  return walked;
}

const create = async (): Promise<string> =>
  (await send('POST', '/responses', { input: { text: 'Why are there tides?' }, model: 'builtin' })).body.data
    .id;

const wireOf = (id: string) =>
  JSON.stringify({
    type: 'message',
    id,
    role: 'user',
    status: 'completed',
    content: [{ type: 'input_text', text: 'x'.repeat(large) }],
  });

it('messages come in pages of some megabytes, each message once', async () => {
  const first = (await send('POST', '/threads/messages', { content: 'x'.repeat(large) })).body.data;
  const posted = [first.id as string];
  for (let n = 1; n < 6; n += 1) {
    const path = `/threads/${first.thread_id}/messages`;
    posted.push((await send('POST', path, { content: 'x'.repeat(large) })).body.data.id);
  }
  expect(await walk(`/threads/${first.thread_id}/messages`)).toEqual({ ids: posted, counts: [4, 2] });
});

it('input items of a response come in pages of some megabytes, on both surfaces', async () => {
  const id = await create();
  const { rows } = await admin.query<{ n: number }>(
    'select max(position) + 1 as n from response_context where response_id = $1',
    [id],
  );
  const given = Array.from({ length: 6 }, (_, n) => `msg_large${n}`);
  for (const [n, item] of given.entries()) {
    await admin.query(
      'insert into items (tenant_id, id, response_id, type, wire) values ($1, $2, $3, $4, $5)',
      [world.tenantId, item, id, 'message', wireOf(item)],
    );
    await admin.query(
      'insert into response_context (tenant_id, response_id, position, item_id) values ($1, $2, $3, $4)',
      [world.tenantId, id, rows[0]!.n + n, item],
    );
  }
  const walked = await walk(`/responses/${id}/input_items`);
  expect(walked.ids.slice(-given.length)).toEqual(given);
  expect(walked.counts).toEqual([5, 2]);

  const seen: string[] = [];
  for (let more = true; more;) {
    const after = seen.length === 0 ? '' : `&after=${seen.at(-1)}`;
    const { body } = await send('GET', `/openai/responses/${id}/input_items?limit=100&order=asc${after}`);
    expect(body.data.length).toBeLessThan(6);
    seen.push(...body.data.map((item: { id: string }) => item.id));
    more = body.has_more as boolean;
  }
  expect(seen).toEqual(walked.ids);
});

it('responses come in pages of some megabytes', async () => {
  const made: string[] = [];
  for (let n = 0; n < 6; n += 1) {
    const id = await create();
    made.unshift(id);
    const item = `msg_output${n}`;
    const wire = JSON.stringify({
      type: 'message',
      id: item,
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'x'.repeat(large), annotations: [], logprobs: [] }],
    });
    await admin.query(
      'insert into items (tenant_id, id, response_id, output_index, type, wire) values ($1, $2, $3, 0, $4, $5)',
      [world.tenantId, item, id, 'message', wire],
    );
  }
  const { ids, counts } = await walk('/responses');
  expect(ids.slice(0, made.length)).toEqual(made);
  expect(counts[0]).toBe(4);
});
