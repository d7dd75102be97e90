import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ResponseRecord } from '#domain/responses/record/response-record.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startModelServer, type ModelServer } from '../support/model-server.ts';
import { ResponsesClient, textOf } from '../support/responses-client.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { connect } from '../support/tables.ts';
import { createWorld, scriptedModel, type World } from '../support/world.ts';

const text = 'The harbour lies behind the old mole, and its light is green. '.repeat(3).trim();

let database: TestDatabase;
let admin: Client;
let stack: Stack;
let world: World;
let models: ModelServer;
let client: ResponsesClient;

beforeAll(async () => {
  models = await startModelServer([
    { name: 'guide', text, tokenDelayMs: 2 },
    { name: 'slow', text: text.repeat(4), tokenDelayMs: 20 },
  ]);
  database = await createTestDatabase();
  admin = await connect(database.adminUrl);
  world = await createWorld(database.unitOfWork, [
    scriptedModel(models, 'slow'),
    scriptedModel(models, 'guide'),
  ]);
  const origin = new URL(models.url).origin;
  stack = await startStack({ database, armable: true, env: { EGRESS_ALLOW: origin } });
  client = new ResponsesClient(world, () => stack.gateways[0]!);
});
afterAll(async () => {
  await stack?.stop();
  await models?.stop();
  await admin?.end();
  await database?.drop();
});

async function thread(path: string, body?: object): Promise<{ status: number; data: never }> {
  const answer = await fetch(`${stack.gateways[0]!.url}/api/v1/spaces/${world.spaceId}/threads${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { ...client.headers, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const { data } = (await answer.json()) as { data: never };
  return { status: answer.status, data };
}

async function begin(content = 'Hello'): Promise<string> {
  const { data } = await thread('/messages', { content });
  return (data as { thread_id: string }).thread_id;
}

async function said(threadId: string): Promise<string[]> {
  const { data } = await thread(`/${threadId}/messages`);
  return (data as { role: string; content: string }[]).map(({ role, content }) => `${role}: ${content}`);
}

/** Responses of other tests have passed every failpoint. */
async function untilNothingRuns(): Promise<void> {
  const query = `ExecutionStatus = 'Running' AND WorkflowType = 'generateResponse'`;
  const running = () => stack.temporal.workflow.count(query);
  await expect.poll(async () => (await running()).count, { timeout: 30_000 }).toBe(0);
}

const ask = (threadId: string, question: string, more: object = {}) => ({
  input: { text: question },
  tools: [],
  platform: { thread_id: threadId, ...more },
});

async function answered(threadId: string, question: string): Promise<ResponseRecord> {
  const made = await client.create(ask(threadId, question), { prefer: 'wait=30' });
  expect(made.data.status).toBe('completed');
  return made.data;
}

describe('a response of a thread', () => {
  it('includes the earlier messages in its prompt, and its question and answer follow them', async () => {
    const id = await begin('My boat is called Petrel.');
    const first = await answered(id, 'Where may she lie?');
    expect(first.platform.thread_id).toBe(id);
    await answered(id, 'And tomorrow?');
    expect(await said(id)).toEqual([
      'user: My boat is called Petrel.',
      'user: Where may she lie?',
      `assistant: ${text}`,
      'user: And tomorrow?',
      `assistant: ${text}`,
    ]);
    const received = models.requests.at(-1)!.body!.messages.map(({ role, content }) => [role, content]);
    expect(received).toEqual([
      ['user', 'My boat is called Petrel.'],
      ['user', 'Where may she lie?'],
      ['assistant', text],
      ['user', 'And tomorrow?'],
    ]);
  });

  it('continues from its previous response instead, when it names one', async () => {
    const id = await begin('Not told again.');
    const first = await client.create({ input: { text: 'One' }, tools: [] }, { prefer: 'wait=30' });
    const body = { ...ask(id, 'Two'), previous_response_id: first.data.id };
    await client.create(body, { prefer: 'wait=30' });
    const received = models.requests.at(-1)!.body!.messages.map(({ content }) => content);
    expect(received).toEqual(['One', text, 'Two']);
    expect(await said(id)).toEqual(['user: Not told again.', 'user: Two', `assistant: ${text}`]);
  });

  it('of a branch includes that branch only', async () => {
    const { data } = await thread('/messages', { content: 'A' });
    const root = data as { id: string; thread_id: string };
    await thread(`/${root.thread_id}/messages`, { content: 'B' });
    const fork = await thread(`/${root.thread_id}/messages`, { content: 'C', parent_message_id: root.id });
    const branch = (fork.data as { branch_id: string }).branch_id;
    await client.create(ask(root.thread_id, 'D', { branch_id: branch }), { prefer: 'wait=30' });
    const received = models.requests.at(-1)!.body!.messages.map(({ content }) => content);
    expect(received).toEqual(['A', 'C', 'D']);
  });

  it('runs alone in its branch: another is refused, waits, or replaces it', async () => {
    const id = await begin('Hello');
    const slow = { ...ask(id, 'Slowly'), model: 'slow' };
    const running = await client.create(slow);
    await client.writing(running.data.id);
    const refused = await client.create(ask(id, 'Now?'));
    expect(`${refused.status} ${refused.error.code}`).toBe('409 previous_response_in_progress');
    const waiting = await client.create(ask(id, 'Then.', { on_busy: 'enqueue' }));
    const done = await client.ended(running.data.id, 60_000);
    await client.ended(waiting.data.id);
    expect(await said(id)).toEqual([
      'user: Hello',
      'user: Slowly',
      'user: Then.',
      `assistant: ${textOf(done)}`,
      `assistant: ${text}`,
    ]);
    const another = await client.create(slow);
    await client.writing(another.data.id);
    const instead = await client.create(ask(id, 'Stop.', { on_busy: 'cancel_previous' }), {
      prefer: 'wait=30',
    });
    expect(instead.data.status).toBe('completed');
    const cut = await client.read(another.data.id);
    expect(cut.status).toBe('cancelled');
    expect((await said(id)).slice(-4)).toEqual([
      'user: Slowly',
      `assistant: ${textOf(cut)}`,
      'user: Stop.',
      `assistant: ${text}`,
    ]);
  });

  it('waits for all others that were requested at once, in the order of their questions', async () => {
    const id = await begin('Hello');
    const slow = { ...ask(id, 'Slowly', { on_busy: 'enqueue' }), model: 'slow' };
    const first = await client.create(slow);
    await client.writing(first.data.id);
    const second = await client.create({ ...slow, previous_response_id: first.data.id });
    const third = await client.create(ask(id, 'Third', { on_busy: 'enqueue' }));
    const asked = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        client.create({
          ...ask(id, `Question ${n}`, { on_busy: 'enqueue' }),
          // Some name a response that others already wait for.
          ...(n % 4 === 0 ? { previous_response_id: second.data.id } : {}),
        }),
      ),
    );
    expect(asked.map(({ status, error }) => (status === 202 ? 202 : `${error.code} ${error.param}`))).toEqual(
      asked.map((_, n) => (n % 4 === 0 ? 'previous_response_in_progress previous_response_id' : 202)),
    );
    const accepted = [second, third, ...asked.filter(({ status }) => status === 202)];
    expect(accepted.map(({ status }) => status)).toEqual(accepted.map(() => 202));
    for (const { data } of accepted) {
      expect((await client.ended(data.id, 60_000)).status).toBe('completed');
    }
    const { rows } = await admin.query<{ inOrder: boolean; alone: boolean }>(
      `select lag(q.position) over turn is null or lag(q.position) over turn < q.position as "inOrder",
         lag(r.finished_at) over turn is null or lag(r.finished_at) over turn <= r.started_at as alone
       from responses r
         join messages q on q.response_id = r.id and q.role = 'user'
         join messages a on a.response_id = r.id and a.role = 'assistant'
       where r.thread_id = $1 window turn as (order by a.position)`,
      [id],
    );
    expect(rows).toEqual(Array.from({ length: accepted.length + 1 }, () => ({ inOrder: true, alone: true })));
  });

  it('adds its question once, however often it is sent with one key', async () => {
    const id = await begin('Hello');
    const headers = { 'idempotency-key': `key-${newId()}`, prefer: 'wait=30' };
    const sent = await Promise.all([1, 2, 3].map(() => client.create(ask(id, 'Once?'), headers)));
    expect(new Set(sent.map(({ data }) => data.id)).size).toBe(1);
    expect(await said(id)).toEqual(['user: Hello', 'user: Once?', `assistant: ${text}`]);
  });

  it('cannot join a thread that is archived, unknown or another space’s', async () => {
    const answer = await client.create(ask(newId(), 'Hello?'));
    expect(`${answer.status} ${answer.error.code}`).toBe('404 thread_not_found');
  });

  it.each(['turn.before_commit', 'turn.after_commit', 'activity.before_completion'] as const)(
    'adds its answer once when its worker dies at %s',
    async (failpoint) => {
      const id = await begin(failpoint);
      const [armed] = stack.workers.splice(0);
      await armed!.ready;
      await untilNothingRuns();
      await armed!.arm(failpoint);
      const made = await client.create(ask(id, 'Once?'));
      expect(await armed!.exited).toBe('SIGKILL');
      await stack.launch('worker');
      const record = await client.ended(made.data.id);
      expect(record.status).toBe('completed');
      expect(await said(id)).toEqual([`user: ${failpoint}`, 'user: Once?', `assistant: ${textOf(record)}`]);
      const { rows } = await admin.query('select from messages where response_id = $1', [made.data.id]);
      expect(rows).toHaveLength(2);
    },
    180_000,
  );
});
