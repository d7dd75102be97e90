import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Follower } from '#api/sse/follower.ts';
import type { Permission } from '#domain/foundation/access/permissions.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { openEngine, type Engine } from '../support/engine.ts';
import { openGateway, type Answer, type TestGateway } from '../support/gateway.ts';
import { countStatements, type StatementCounter } from '../support/statement-counter.ts';
import { addMember } from '../support/world.ts';

const value = 'grace@example.org';
const token = /\[EMAIL_\w{12}\]/;

let engine: Engine;
let gateway: TestGateway;
let project: string;
let elsewhere: string;
/** A principal that may read everything in the space but personal data, which a role in the project shows. */
let reader: { principalId: string; apiKey: string };
let membership: string;

beforeAll(async () => {
  engine = await openEngine();
  gateway = await openGateway(engine.database);
  expect((await send('PUT', '/governance', { pii: { mode: 'redact' } })).status).toBe(200);
});
beforeEach(async () => {
  [project, elsewhere] = [await aProject(), await aProject()];
  await role('space_reader', 'threads.read', 'messages.read', 'responses.read');
  reader = await addMember(engine.database.unitOfWork, engine.world, { spaceRole: 'space_reader' });
  const path = `/projects/${project}/members`;
  const role_id = await role(`pii_${project.replaceAll('-', '_')}`, 'threads.read_pii');
  const added = await send('POST', path, { principal_id: reader.principalId, role_id });
  membership = `${path}/${added.body.data.id}`;
});
afterAll(async () => {
  await gateway?.close();
  await engine?.stop();
});

const ask = (method: string, path: string, body?: object, apiKey = engine.world.apiKey) =>
  gateway.send({ method, path: `/v1${path}`, apiKey, ...(body && { body }) });
const send = (method: string, path: string, body?: object, apiKey?: string): Promise<Answer> =>
  ask(method, `/spaces/${engine.world.spaceId}${path}`, body, apiKey);

async function aProject(): Promise<string> {
  return (await send('POST', '/projects', { name: 'Pier' })).body.data.id as string;
}

async function role(key: string, ...permissions: Permission[]): Promise<string> {
  const made = await ask('POST', '/admin/roles', { key, name: key });
  const id = made.body.data?.id as string;
  await ask('PUT', `/admin/roles/${id}/permissions`, { permissions });
  return id;
}

/** A thread of the owner's whose first message holds the value, and that message as it is stored. */
async function begin(of: string | null): Promise<{ threadId: string; branchId: string; kept: string }> {
  const body = { content: `Write to ${value}.`, project_id: of };
  const { thread_id: threadId, branch_id: branchId } = (await send('POST', '/threads/messages', body)).body
    .data as { thread_id: string; branch_id: string };
  const { rows } = await engine.admin.query<{ content: string }>(
    'select content from messages where thread_id = $1',
    [threadId],
  );
  return { threadId, branchId, kept: rows[0]!.content };
}

/** A response that repeats the thread's message. */
async function answered(thread: Awaited<ReturnType<typeof begin>>): Promise<string> {
  const id = await engine.create({ thread });
  const attempt = await engine.attempt(id);
  await attempt.say(thread.kept);
  await attempt.commit();
  return id;
}

/** Every place that shows a thread or its response, by name. */
async function received(
  apiKey: string,
  threadId: string,
  responseId: string,
): Promise<Record<string, string>> {
  const get = async (path: string) => (await send('GET', path, undefined, apiKey)).text;
  const inList = async (path: string) => {
    const rows = (await send('GET', path, undefined, apiKey)).body.data as { id: string }[];
    return JSON.stringify(rows.find(({ id }) => id === threadId || id === responseId));
  };
  return {
    thread: await get(`/threads/${threadId}`),
    'list of threads': await inList('/threads'),
    messages: await get(`/threads/${threadId}/messages`),
    response: await get(`/responses/${responseId}`),
    'list of responses': await inList('/responses'),
    'input items': await get(`/responses/${responseId}/input_items`),
    events: await get(`/responses/${responseId}/events`),
    'OpenAI’s form': await get(`/openai/responses/${responseId}`),
  };
}

/** The stream of a response, through a gateway. */
async function openStream(through: TestGateway, apiKey: string, responseId: string): Promise<Response> {
  const address = await through.app.listen({ port: 0, host: '127.0.0.1' });
  const answer = await fetch(`${address}/api/v1/spaces/${engine.world.spaceId}/responses/${responseId}`, {
    headers: { 'X-API-Key': apiKey, Accept: 'text/event-stream' },
    signal: AbortSignal.timeout(10_000),
  });
  expect(answer.status).toBe(200);
  return answer;
}

/** The places that show the value itself. */
const places = (found: Record<string, string>): string[] =>
  Object.keys(found).filter((name) => found[name]!.includes(value));

describe('threads.read_pii by a role in a project', () => {
  it('shows the values of its threads, in them and in their responses, and nowhere else', async () => {
    const [here, there, nowhere] = [await begin(project), await begin(elsewhere), await begin(null)];
    const seen = await received(reader.apiKey, here.threadId, await answered(here));
    expect(places(seen)).toEqual(Object.keys(seen));
    const list = await send('GET', `/threads?project_id=${project}`, undefined, reader.apiKey);
    expect(list.text).toContain(value);
    for (const thread of [there, nowhere]) {
      const hidden = await received(reader.apiKey, thread.threadId, await answered(thread));
      expect(places(hidden)).toEqual([]);
      expect(hidden['response']).toMatch(token);
      expect(hidden['messages']).toMatch(token);
      expect(JSON.parse(hidden['thread']!).data.pii_mapping).toBeNull();
    }
  });

  it('shows them to no key without it, and to no principal after the role is removed', async () => {
    const thread = await begin(project);
    const id = await answered(thread);
    const name = `key-${newId()}`;
    const keep = { name, permissions: ['threads.read', 'messages.read', 'responses.read'] };
    const cut = await ask('POST', '/admin/api-keys', keep, reader.apiKey);
    expect(places(await received(cut.body.data.api_key, thread.threadId, id))).toEqual([]);
    expect((await send('DELETE', membership)).status).toBe(200);
    const after = await received(reader.apiKey, thread.threadId, id);
    expect(places(after)).toEqual([]);
    expect(after['events']).toMatch(token);
  });

  it('does not show values that a response brought from another conversation', async () => {
    const outside = await answered(await begin(elsewhere));
    const thread = { ...(await begin(project)), kept: '' };
    const id = await engine.create({ thread, previousResponseId: outside });
    const read = (apiKey?: string) => send('GET', `/responses/${id}/input_items`, undefined, apiKey);
    expect((await read()).text).toContain(value);
    const shown = await read(reader.apiKey);
    expect(shown.text).not.toContain(value);
    expect(shown.text).toMatch(token);
    const entriesOf = async (apiKey?: string) => {
      const answer = await send('GET', `/threads/${thread.threadId}`, undefined, apiKey);
      return answer.body.data.pii_mapping.entries as { count: number; value: string }[];
    };
    expect(await entriesOf(reader.apiKey)).toMatchObject([{ count: 1, value }]);
    expect(await entriesOf()).toMatchObject([
      { count: 1, value },
      { count: 0, value },
    ]);
  });

  it('ends the stream that it shows values in when it is taken away', async () => {
    const thread = await begin(project);
    const id = await engine.create({ thread });
    const attempt = await engine.attempt(id);
    await attempt.say(`${thread.kept} And then`);
    const answer = await openStream(gateway, reader.apiKey, id);
    expect((await send('DELETE', membership)).status).toBe(200);
    const text = await answer.text();
    expect(text).toContain('event: error');
    expect(text).toContain('threads.read_pii');
  });
});

describe('the cost in database statements', () => {
  let counter: StatementCounter;
  let counted: TestGateway;

  beforeEach(async () => {
    counter = await countStatements(engine.database.url);
    counted = await openGateway({ url: counter.url });
    // Periodic statements of the gateway are not counted.
    await counted.gateway.hub.stop();
  });
  afterEach(async () => {
    await counted.close();
    await counter.close();
  });

  /** Statements of a repeated operation: the first time opens connections and records the use of the key. */
  async function minOf(work: () => Promise<unknown>): Promise<number> {
    const costs: number[] = [];
    for (let time = 0; time < 4; time += 1) {
      costs.push(await counter.during(work));
    }
    return Math.min(...costs);
  }

  async function costOf(path: string, apiKey: string): Promise<number> {
    const url = `/v1/spaces/${engine.world.spaceId}${path}`;
    return minOf(async () => {
      expect((await counted.send({ method: 'GET', path: url, apiKey })).status).toBe(200);
    });
  }

  /** The cost of an open stream's reader at each recheck of its permissions. */
  async function costOfRecheck(apiKey: string, responseId: string): Promise<number> {
    const followers: Follower[] = [];
    const { hub } = counted.gateway;
    const attach = hub.attach.bind(hub);
    hub.attach = (follower) => {
      followers.push(follower);
      return attach(follower);
    };
    const stream = await openStream(counted, apiKey, responseId);
    const chunks = stream.body!.pipeThrough(new TextDecoderStream()).getReader();
    // The values it may see are read before its permissions are rechecked.
    for (let sent = ''; !sent.includes(value);) {
      const chunk = await chunks.read();
      expect(chunk.done).toBe(false);
      sent += chunk.value ?? '';
    }
    const cost = await minOf(() => followers[0]!.recheck());
    await chunks.cancel();
    return cost;
  }

  /** A response of the thread that still runs, with some text. */
  async function begun(thread: Awaited<ReturnType<typeof begin>>): Promise<string> {
    const id = await engine.create({ thread });
    await (await engine.attempt(id)).say(`${thread.kept} And then`);
    return id;
  }

  it('a recheck of an open stream reads the key and the permissions only', async () => {
    const id = await begun(await begin(project));
    expect(await costOfRecheck(engine.world.apiKey, id)).toBe(2);
  });

  it('and the thread and its role where only that role shows values', async () => {
    const id = await begun(await begin(project));
    // In a transaction: the thread, the membership and the permissions of its role.
    expect(await costOfRecheck(reader.apiKey, id)).toBe(7);
  });

  it('a response is shown in one transaction', async () => {
    const id = await answered(await begin(project));
    // The key, the response, the request, and a transaction: permissions as above, the mapping and its keys.
    expect(await costOf(`/responses/${id}`, reader.apiKey)).toBe(10);
  });

  it('a page of responses costs the same, however many there are', async () => {
    // A page of one is not measured.
    for (const space of [project, project]) {
      await answered(await begin(space));
    }
    const few = await costOf('/responses?limit=2', reader.apiKey);
    for (const space of [project, elsewhere, project, null]) {
      await answered(await begin(space));
    }
    expect(await costOf('/responses?limit=5', reader.apiKey)).toBe(few);
  });
});
