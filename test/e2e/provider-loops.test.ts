import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { ResponseRecord } from '#domain/responses/record/response-record.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { readOnSurface } from '../support/open-responses-space.ts';
import { ResponsesClient, textOf } from '../support/responses-client.ts';
import { followResponse } from '../support/sse-recorder.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { checkStream } from '../support/stream-checker.ts';
import { startToolServer, type ToolServer } from '../support/tool-servers.ts';
import { spaceServers } from '../support/tool-world.ts';
import { startWireFake, type FakeExchange, type WireFake } from '../support/wire-fakes/fake-server.ts';
import { fakeKind, fakeKinds, fakeModel } from '../support/wire-fakes/index.ts';
import { createWorld, type World } from '../support/world.ts';

const hours = ['first', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth'];
const text = hours
  .map((hour, i) => `In the ${hour} hour the water stood at ${17 + i * 31} inches on the harbour wall.`)
  .join(' ');
const thought = 'The harbour book may know';
/** A tool of ours and one of a connected server, which counts its calls. */
const calls = [
  { name: 'knowledge_search', arguments: { query: 'tides' } },
  { name: 'mcp__gauge__unkeyed_add', arguments: { item: 'a tide' } },
];
const script = { text, calls, reasoning: thought, tokenDelayMs: 15, refusesPrefill: true };

let database: TestDatabase;
let stack: Stack;
let world: World;
let client: ResponsesClient;
let gauge: ToolServer;
const fakes = new Map<string, WireFake>();

beforeAll(async () => {
  for (const of of fakeKinds) {
    // In mid-text until the worker is killed, so that one kill affects all of them.
    const fail = [{ onAttempt: 1, onRound: calls.length, hangAfterChars: text.length / 3 }];
    fakes.set(of.kind, await startWireFake(of.vendor(), { ...script, fail }));
  }
  const background = await startWireFake(fakeKind('openai').vendor(), script);
  fakes.set('background', background);
  const cut = await startWireFake(fakeKind('openai').vendor(), {
    text,
    tokenDelayMs: 10,
    fail: [{ onAttempt: 1, onRound: 0, cutAfterChars: 200 }],
  });
  fakes.set('cut', cut);
  const failing = await startWireFake(fakeKind('openai').vendor(), {
    text,
    reasoning: thought,
    fail: [{ onAttempt: 1, onRound: 0, endsFailed: true }],
  });
  fakes.set('failing', failing);
  gauge = await startToolServer();
  database = await createTestDatabase();
  world = await createWorld(database.unitOfWork, [
    ...fakeKinds.map((of) => fakeModel(of, fakes.get(of.kind)!.origin)),
    fakeModel(fakeKind('openai'), background.origin, { alias: 'background', continuation: 'reattach' }),
    fakeModel(fakeKind('openai'), cut.origin, { alias: 'cut', continuation: 'reattach' }),
    fakeModel(fakeKind('openai'), failing.origin, { alias: 'failing', continuation: 'reattach' }),
  ]);
  const origins = [gauge, ...fakes.values()].map(({ origin }) => origin);
  stack = await startStack({ database, env: { EGRESS_ALLOW: origins.join(',') } });
  client = new ResponsesClient(world, () => stack.gateways[0]!);
  const servers = spaceServers(() => stack.gateways[0]!, world);
  await servers.update(await servers.register('gauge', gauge.url), { enabled_tools: ['unkeyed_add'] });
});

afterAll(async () => {
  await stack?.stop();
  await Promise.all([gauge, ...fakes.values()].map((each) => each?.stop()));
  await database?.drop();
});

interface Followed {
  /** Characters of its text that its reader has received. */
  read: number;
  ended: Promise<ResponseRecord>;
}

function follow(model: string): Followed {
  const summary = model === 'openai_compatible' ? {} : { summary: 'auto' };
  const recorded = followResponse({
    request: () => ({
      url: client.url(),
      method: 'POST',
      headers: { ...client.headers, 'Content-Type': 'application/json' },
      body: {
        input: { text: 'Why are there tides?' },
        model,
        stream: true,
        reasoning: { effort: 'low', ...summary },
      },
    }),
    onFrame: ({ event, data }) => {
      if (event === 'response.output_text.delta') {
        followed.read += (JSON.parse(data!) as { delta: string }).delta.length;
      }
    },
  });
  const followed = {
    read: 0,
    ended: recorded.then(async ({ responseId, segments }) => {
      const record = await client.read(responseId!);
      expect(checkStream({ responseId: responseId!, segments, final: { ...record } })).toEqual([]);
      return record;
    }),
  };
  followed.ended.catch(() => undefined);
  return followed;
}

/** Once the readers of all have a quarter of the text, their worker is killed and another one started. */
async function killWithin(followed: readonly Followed[]): Promise<string | null> {
  await vi.waitUntil(() => followed.every(({ read }) => read > text.length / 4), {
    timeout: 60_000,
    interval: 5,
  });
  const [victim] = stack.workers.splice(0);
  const killed = victim!.kill();
  await stack.launch('worker');
  return killed;
}

const types = ({ output }: ResponseRecord) => output.map(({ type }) => type);
/** Both calls ran, one after the other, before the answer. */
function expectBothTools({ output }: ResponseRecord): void {
  expect(output.filter(({ type }) => type !== 'reasoning')).toMatchObject([
    { type: 'file_search_call', status: 'completed', queries: ['tides'] },
    {
      type: 'mcp_call',
      status: 'completed',
      server_label: 'gauge',
      name: 'unkeyed_add',
      output: 'added a tide',
    },
    { type: 'message', status: 'completed' },
  ]);
}
const callsOf = (requests: readonly FakeExchange[]) =>
  requests.filter(({ method }) => method === 'POST').length;

describe('a loop of two tools with reasoning, and a kill in mid-text', () => {
  const records = new Map<string, Promise<ResponseRecord>>();

  beforeAll(async () => {
    const followed = fakeKinds.map(({ kind }) => {
      const each = follow(kind);
      records.set(kind, each.ended);
      return each;
    });
    expect(await killWithin(followed)).toBe('SIGKILL');
  });

  it.each(fakeKinds)('$kind: exactly the text, and no request that the vendor refuses', async ({ kind }) => {
    const fake = fakes.get(kind)!;
    const record = (await records.get(kind))!;
    expect(fake.refusals()).toEqual([]);
    expect(record).toMatchObject({ status: 'completed', platform: { tool_call_count: 2, attempts: 4 } });
    expect(textOf(record)).toBe(text);
    expectBothTools(record);
    // The two calls, the answer, and its continuation.
    expect(callsOf(fake.requests)).toBe(4);
    if (kind !== 'google') {
      expect(types(record).filter((type) => type === 'reasoning').length).toBe(3);
    }
    const summaries = record.output.flatMap((item) => (item.type === 'reasoning' ? item.summary : []));
    expect(summaries.some((part) => part.text.startsWith(thought))).toBe(kind !== 'openai_compatible');
    expect(JSON.stringify(record)).not.toContain('encrypted');
  });

  it('calls each tool once, although the worker is killed later', async () => {
    await Promise.all(records.values());
    expect(gauge.arrivals()).toHaveLength(fakeKinds.length);
  });

  it('a run on the side of OpenAI is read again, and paid for once', async () => {
    const fake = fakes.get('background')!;
    const added = gauge.arrivals().length;
    await stack.workers[0]!.ready;
    const followed = follow('background');
    expect(await killWithin([followed])).toBe('SIGKILL');
    const record = await followed.ended;
    expectBothTools(record);
    expect(gauge.arrivals().length - added).toBe(1);
    expect(textOf(record)).toBe(text);
    expect(fake.refusals()).toEqual([]);
    expect(callsOf(fake.requests)).toBe(3);
    expect(fake.requests.at(-1)!.method).toBe('GET');
    // Three turns of 100 and 10 tokens: the interrupted attempt costs nothing of its own.
    expect(record.usage).toMatchObject({ input_tokens: 300, output_tokens: 30, reasoning_tokens: 15 });
  });
});

describe('a connection that the vendor drops in mid-text', () => {
  it('does not end a background run: it is read again, and paid for once', async () => {
    const { data } = await client.create(
      { input: { text: 'Why?' }, model: 'cut', tools: [] },
      { Prefer: 'wait=30' },
    );
    expect(textOf(data)).toBe(text);
    expect(fakes.get('cut')!.requests.map(({ method }) => method)).toEqual(['POST', 'GET']);
    expect(data.usage).toMatchObject({ input_tokens: 100, output_tokens: 10 });
    expect(data.platform.attempts).toBe(2);
  });
});

describe('a background run without an answer', () => {
  it('is ended at the vendor before another one replaces it', async () => {
    const { data } = await client.create(
      { input: { text: 'Why?' }, model: 'failing', tools: [] },
      { Prefer: 'wait=30' },
    );
    expect(textOf(data)).toBe(text);
    const asked = fakes.get('failing')!.requests.map(({ method, path }) => `${method} ${path}`);
    expect(asked).toEqual([
      'POST /v1/responses',
      expect.stringMatching(/^GET .*\?stream=true$/),
      expect.stringMatching(/^POST .*\/cancel$/),
      'POST /v1/responses',
    ]);
  });
});

describe('a response that is cancelled', () => {
  it('ends the background run at the vendor, too', async () => {
    const cancels = () => fakes.get('background')!.requests.filter(({ path }) => path.endsWith('/cancel'));
    expect(cancels()).toEqual([]);
    const { data } = await client.create({ input: { text: 'Why?' }, model: 'background', tools: [] });
    await client.writing(data.id);
    await client.call(`/${data.id}/cancel`, { method: 'POST' });
    await expect.poll(() => cancels().length, { timeout: 10_000 }).toBe(1);
    expect(fakes.get('background')!.refusals()).toEqual([]);
  });
});

describe('a chain over several models', () => {
  it('drops reasoning where the model changes, keeps text and calls, and sends a model its own reasoning', async () => {
    const ask = async (model: string, previous: string | null) => {
      const body = {
        input: { text: 'And why?' },
        model,
        reasoning: { effort: 'low' },
        previous_response_id: previous,
      };
      const { data } = await client.create(body, { Prefer: 'wait=30' });
      expect([model, data.status, ...fakes.get(model)!.refusals()]).toEqual([model, 'completed']);
      return data.id;
    };
    const first = await ask('anthropic', null);
    const second = await ask('openai', first);
    await ask('anthropic', second);
    for (const kind of ['anthropic', 'openai']) {
      expect(fakes.get(kind)!.refusals()).toEqual([]);
    }
    const received = (kind: string) => JSON.stringify(fakes.get(kind)!.requests.at(-1)!.body);
    expect(received('openai')).toContain(text);
    const own = fakes.get('anthropic')!.requests.at(-1)!.body as {
      messages: { content: { type: string }[] }[];
    };
    const blocks = own.messages.map(({ content }) => content.map(({ type }) => type).join('+'));
    // Its first three turns unchanged, the other model's without reasoning.
    expect(blocks.slice(0, 6)).toEqual([
      'text',
      'thinking+tool_use',
      'tool_result',
      'thinking+tool_use',
      'tool_result',
      'thinking+text',
    ]);
    expect(blocks.slice(7, 12)).toEqual(['tool_use', 'tool_result', 'tool_use', 'tool_result', 'text']);
  });
});

it('all of them are objects and events of Open Responses', async () => {
  const url = `${stack.gateways[0]!.url}/api/v1/spaces/${world.spaceId}`;
  const { items, problems } = await readOnSurface({ url, apiKey: world.apiKey });
  expect(items).toEqual(['file_search_call', 'mcp_call', 'message', 'reasoning']);
  expect(problems).toEqual([]);
});
