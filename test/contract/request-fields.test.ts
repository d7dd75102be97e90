import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ResponseRecord } from '#domain/responses/record/response-record.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startModelServer, type ModelServer } from '../support/model-server.ts';
import type { Script } from '../support/model-script.ts';
import type { ChatRequest } from '../support/model-wire.ts';
import { committedApi, type JsonSchema } from '../support/openapi.ts';
import { splitFrames } from '../support/sse-frames.ts';
import { arrivalOf, recordSegment } from '../support/sse-recorder.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { startToolServer, type ToolServer } from '../support/tool-servers.ts';
import { createWorld, scriptedModel, type World } from '../support/world.ts';

const text = 'The tide turns twice a day, and the harbour master writes both hours on the board by the gate. '
  .repeat(2)
  .trim();
const scripts: Script[] = [
  { name: 'plain', text },
  { name: 'searcher', text: 'It is blue.', toolRounds: 1, toolQuery: 'beacon' },
  { name: 'endless', text: 'Never said.', toolRounds: 100, toolQuery: 'beacon' },
  { name: 'slow', text, tokenDelayMs: 30 },
  { name: 'stuck', text, fail: [{ hang: true }] },
  { name: 'broken', text, fail: [{ onAttempt: 1, dropAfterChars: 60 }] },
  { name: 'thinker', text },
  { name: 'small', text },
  {
    name: 'writer',
    text: 'Done.',
    calls: [[{ name: 'mcp__ledger__unkeyed_add', arguments: { item: 'tide' } }]],
  },
];

let models: ModelServer;
let database: TestDatabase;
let stack: Stack;
let world: World;
let ledger: ToolServer;
let collections: { full: string; empty: string };
const described = committedApi();

beforeAll(async () => {
  models = await startModelServer(scripts);
  database = await createTestDatabase();
  ledger = await startToolServer();
  const changes: Record<string, object> = {
    thinker: { supportsReasoning: true, inputModalities: ['text', 'image', 'file'] },
    small: { contextWindow: 40 },
  };
  const added = scripts
    .toReversed()
    .map(({ name }) => ({ ...scriptedModel(models, name), ...changes[name] }));
  world = await createWorld(database.unitOfWork, added);
  stack = await startStack({
    database,
    env: { EGRESS_ALLOW: [new URL(models.url).origin, ledger.origin].join(',') },
  });
  const full = await made('collections', { name: 'Full' });
  const document = {
    filename: 'beacon.txt',
    media_type: 'text/plain',
    content: 'The beacon of the harbour is blue.',
  };
  const id = await made(`collections/${full}/documents`, document);
  collections = { full, empty: await made('collections', { name: 'Empty' }) };
  await untilStatus(`collections/${full}/documents/${id}`, 'ready');
});
afterAll(async () => {
  await stack?.stop();
  await models?.stop();
  await ledger?.stop();
  await database?.drop();
});

interface Reply {
  status: number;
  headers: Headers;
  text: string;
  // oxlint-disable-next-line typescript/no-explicit-any
  body: any;
}

const place = () => `/v1/spaces/${world.spaceId}`;
const credentials = () => ({ 'x-api-key': world.apiKey, 'content-type': 'application/json' });

/** Through the running gateway; every answer is checked against our own OpenAPI document. */
async function send(
  method: string,
  path: string,
  body?: object,
  headers: Record<string, string> = {},
): Promise<Reply> {
  const answer = await fetch(`${stack.gateways[0]!.url}/api${place()}/${path}`, {
    method,
    headers: { ...credentials(), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const said = await answer.text();
  const contentType = answer.headers.get('content-type') ?? undefined;
  const operation = described.operationAt(method, `${place()}/${path}`)!;
  described.expectMatches(operation, {
    status: answer.status,
    headers: { 'content-type': contentType },
    text: said,
  });
  return {
    status: answer.status,
    headers: answer.headers,
    text: said,
    body: contentType?.includes('json') ? JSON.parse(said) : null,
  };
}

async function untilStatus(path: string, wanted: string): Promise<void> {
  for (let i = 0; i < 200; i += 1) {
    if ((await send('GET', path)).body.data.status === wanted) {
      return;
    }
    await sleep(100);
  }
  throw new Error(`${path} was not ${wanted} in time.`);
}

async function made(path: string, body: object): Promise<string> {
  return (await send('POST', path, body)).body.data.id as string;
}

const hello = { input: { text: 'When does the tide turn?' }, tools: [] as unknown[] };

/** A finished response, and the requests to its model. */
async function answer(fields: object): Promise<{ record: ResponseRecord; asked: ChatRequest[] }> {
  const mark = models.requests.length;
  const reply = await send('POST', 'responses', { ...hello, ...fields }, { prefer: 'wait=20' });
  expect(reply.status, reply.text).toBe(200);
  return {
    record: reply.body.data as ResponseRecord,
    asked: models.requests.slice(mark).map(({ body }) => body!),
  };
}

/** A thread with one message. */
async function begun(content: string): Promise<{ id: string; thread_id: string }> {
  return (await send('POST', 'threads/messages', { content })).body.data as { id: string; thread_id: string };
}

async function eventTypes(id: string): Promise<string[]> {
  const page = await send('GET', `responses/${id}/events?limit=1000`);
  return (page.body.data as { type: string }[]).map(({ type }) => type);
}

/** How long its text took to arrive, and how long the model took to write it, in milliseconds. */
async function streamed(fields: object): Promise<{ spanMs: number; types: string[] }> {
  const segment = await recordSegment({
    url: `${stack.gateways[0]!.url}/api${place()}/responses`,
    method: 'POST',
    headers: credentials(),
    body: { ...hello, stream: true, ...fields },
  });
  expect(segment.headers['content-type']).toBe('text/event-stream');
  const { frames } = splitFrames(segment.bytes);
  const at = (type: string) => arrivalOf(segment, frames.find(({ event }) => event === type)!.end)!;
  const spanMs = at('response.output_text.done') - at('response.output_text.delta');
  return { spanMs, types: frames.flatMap(({ event }) => (event === null ? [] : [event])) };
}

const lastText = ({ output }: ResponseRecord): string => {
  const message = output.at(-1)!;
  return message.type === 'message' ? message.content.map((part) => part.text).join('') : '';
};
const search = { tools: ['knowledge_search'], model: 'searcher' };
const results = { platform: { include: ['file_search_call.results'] } };
const found = ({ output }: ResponseRecord) =>
  output.flatMap((item) => (item.type === 'file_search_call' ? [item.results] : []));

interface Row {
  /** The part that a caller sees. */
  effect: string;
  prove: () => Promise<void>;
  /** A refused value, with the code and the param of the error. */
  bad: [value: unknown, code: string, param: string | null];
}

const rows: Record<string, Row> = {
  input: {
    effect: 'is what the model is told, in each of its forms',
    prove: async () => {
      const forms = [
        { text: 'Now?' },
        { role: 'user', content: 'Now?' },
        { messages: [{ role: 'user', content: [{ type: 'input_text', text: 'Now?' }] }] },
        { items: [{ type: 'message', role: 'user', content: 'Now?' }] },
      ];
      for (const input of forms) {
        const { asked } = await answer({ input });
        expect(asked[0]!.messages).toEqual([{ role: 'user', content: 'Now?' }]);
      }
    },
    bad: ['Now?', 'invalid_request', 'input'],
  },
  model: {
    effect: 'chooses the model, and none means the default of the space',
    prove: async () => {
      const byName = await answer({ model: 'thinker' });
      const byAlias = await answer({ model: { alias: 'small' } });
      const byDefault = await answer({});
      expect(
        [byName, byAlias, byDefault].map(({ record }) => [
          record.model_alias,
          record.platform.governance_applied.model_source,
        ]),
      ).toEqual([
        ['thinker', 'requested'],
        ['small', 'requested'],
        ['plain', 'space_default'],
      ]);
    },
    bad: [7, 'invalid_request', 'model'],
  },
  tools: {
    effect: 'decides what the model is offered: null all, [] none',
    prove: async () => {
      const offered = async (tools: unknown) =>
        (await answer({ tools })).asked[0]!.tools?.map((tool) => tool.function.name);
      expect(await offered(null)).toEqual(['knowledge_search']);
      expect(await offered([{ type: 'file_search' }])).toEqual(['knowledge_search']);
      expect(await offered([])).toBeUndefined();
      const parameters = { type: 'object', properties: { q: { type: 'string' } } };
      const mine = { type: 'function', name: 'ask_user', description: 'Asks.', parameters };
      const { asked } = await answer({ tools: [mine, 'knowledge_search'] });
      expect(asked[0]!.tools).toMatchObject([
        { function: { name: 'ask_user', description: 'Asks.', parameters } },
        { function: { name: 'knowledge_search' } },
      ]);
    },
    bad: [
      [{ type: 'mcp', server_label: 'files', server_url: 'https://files.example.com/mcp' }],
      'unsupported_parameter',
      'tools.0.server_url',
    ],
  },
  tool_choice: {
    effect: 'forces the first turn only',
    prove: async () => {
      const { asked, record } = await answer({
        tools: ['knowledge_search'],
        tool_choice: { type: 'knowledge_search' },
      });
      const forced = { type: 'function', function: { name: 'knowledge_search' } };
      expect(asked.map((request) => request.tool_choice)).toEqual([forced, 'auto']);
      expect(record.output.map(({ type }) => type)).toEqual(['file_search_call', 'message']);
    },
    bad: ['required', 'invalid_request', 'tool_choice'],
  },
  tool_mode: {
    effect: 'manual gives calls back instead of running them',
    prove: async () => {
      const { record, asked } = await answer({ ...search, tool_mode: 'manual' });
      expect(asked.length).toBe(1);
      expect(record).toMatchObject({
        status: 'completed',
        output: [{ type: 'function_call', name: 'knowledge_search' }],
      });
    },
    bad: ['sometimes', 'invalid_request', 'tool_mode'],
  },
  max_output_tokens: {
    effect: 'ends the answer there',
    prove: async () => {
      const { record, asked } = await answer({ max_output_tokens: 16 });
      expect(asked[0]!.max_tokens).toBe(16);
      expect(record).toMatchObject({
        status: 'incomplete',
        platform: { incomplete_reason: 'max_output_tokens' },
      });
      expect(text.startsWith(lastText(record))).toBe(true);
      expect(lastText(record).length).toBeLessThan(text.length);
    },
    bad: [15, 'invalid_request', 'max_output_tokens'],
  },
  reasoning: {
    effect: 'reaches a model that reasons, and is refused for one that does not',
    prove: async () => {
      const { asked } = await answer({ model: 'thinker', reasoning: { effort: 'low' } });
      expect(asked[0]!.reasoning_effort).toBe('low');
      expect((await answer({ reasoning: { effort: 'none' } })).record.status).toBe('completed');
      const summary = await send('POST', 'responses', {
        ...hello,
        model: 'thinker',
        reasoning: { summary: 'auto' },
      });
      expect(summary.body.error).toMatchObject({ code: 'unsupported_parameter', param: 'reasoning.summary' });
    },
    bad: [{ effort: 'low' }, 'unsupported_parameter', 'reasoning'],
  },
  stream: {
    effect: 'answers with the events',
    prove: async () => {
      const { types } = await streamed({});
      expect(types[0]).toBe('response.created');
      expect(types).toContain('response.output_text.delta');
      expect(types.at(-1)).toBe('response.completed');
    },
    bad: ['yes', 'invalid_request', 'stream'],
  },
  previous_response_id: {
    effect: 'puts the earlier conversation before the new input',
    prove: async () => {
      const first = await answer({});
      const { asked, record } = await answer({
        input: { text: 'And then?' },
        previous_response_id: first.record.id,
      });
      expect(record.previous_response_id).toBe(first.record.id);
      expect(asked[0]!.messages.map(({ role, content }) => [role, content])).toEqual([
        ['user', hello.input.text],
        ['assistant', text],
        ['user', 'And then?'],
      ]);
    },
    bad: ['resp_unknown', 'previous_response_not_found', 'previous_response_id'],
  },
  idempotency_key: {
    effect: 'makes a repeat the same response',
    prove: async () => {
      const body = { ...hello, idempotency_key: 'once' };
      const first = await send('POST', 'responses', body);
      const again = await send('POST', 'responses', body);
      expect([first.status, again.status, again.headers.get('idempotent-replayed')]).toEqual([
        202,
        200,
        'true',
      ]);
      expect(again.body.data.id).toBe(first.body.data.id);
      const reused = await send('POST', 'responses', { ...body, model: 'small' });
      expect(reused.body.error.code).toBe('idempotency_key_reused');
      const conflict = await send('POST', 'responses', body, { 'idempotency-key': 'twice' });
      expect(conflict.body.error.code).toBe('idempotency_key_conflict');
    },
    bad: ['two words', 'invalid_request', 'idempotency_key'],
  },
  metadata: {
    effect: 'is given back',
    prove: async () => {
      expect((await answer({ metadata: { ticket: '7' } })).record.platform.metadata).toEqual({ ticket: '7' });
    },
    bad: [{ ticket: 7 }, 'invalid_request', 'metadata.ticket'],
  },
  platform: {
    effect: 'may be null, and holds what follows',
    prove: async () => {
      expect((await answer({ platform: null })).record.status).toBe('completed');
    },
    bad: [{ colour: 'red' }, 'unknown_parameter', 'platform.colour'],
  },
  conversation: {
    effect: 'is refused until there are conversations',
    prove: async () => {
      expect((await answer({ conversation: null })).record.status).toBe('completed');
    },
    bad: ['conv_1', 'unsupported_parameter', 'conversation'],
  },
  'platform.instructions': {
    effect: 'stands before the conversation as the system’s words',
    prove: async () => {
      const { asked } = await answer({ platform: { instructions: 'Be brief.' } });
      expect(asked[0]!.messages[0]).toEqual({ role: 'system', content: 'Be brief.' });
    },
    bad: [['Be brief.'], 'invalid_request', 'platform.instructions'],
  },
  'platform.text': {
    effect: 'binds the answer’s form',
    prove: async () => {
      const schema = { type: 'object', properties: { hour: { type: 'string' } } };
      const format = { type: 'json_schema', name: 'tide', schema, strict: true };
      const { asked } = await answer({ platform: { text: { format } } });
      expect(asked[0]!.response_format).toMatchObject({
        type: 'json_schema',
        json_schema: { name: 'tide', schema, strict: true },
      });
      const loose = await answer({ platform: { text: { format: { ...format, strict: undefined } } } });
      expect(loose.asked[0]!.response_format).toMatchObject({ json_schema: { strict: false } });
      const plain = await answer({ platform: { text: { format: { type: 'json_object' } } } });
      expect(plain.asked[0]!.response_format).toEqual({ type: 'json_object' });
    },
    bad: [
      { format: { type: 'json_schema', name: 'no spaces', schema: {} } },
      'invalid_request',
      'platform.text.format.name',
    ],
  },
  'platform.temperature': {
    effect: 'reaches the model',
    prove: async () => {
      expect((await answer({ platform: { temperature: 0.25 } })).asked[0]!.temperature).toBe(0.25);
    },
    bad: [3, 'invalid_request', 'platform.temperature'],
  },
  'platform.top_p': {
    effect: 'reaches the model',
    prove: async () => {
      expect((await answer({ platform: { top_p: 0.5 } })).asked[0]!.top_p).toBe(0.5);
    },
    bad: [1.5, 'invalid_request', 'platform.top_p'],
  },
  'platform.parallel_tool_calls': {
    effect: 'reaches the model along with its tools, true without a word',
    prove: async () => {
      const { asked } = await answer({ tools: null, platform: { parallel_tool_calls: false } });
      expect(asked[0]!.parallel_tool_calls).toBe(false);
      expect((await answer({ tools: null })).asked[0]!.parallel_tool_calls).toBe(true);
    },
    bad: ['no', 'invalid_request', 'platform.parallel_tool_calls'],
  },
  'platform.include': {
    effect: 'shows what a search found',
    prove: async () => {
      expect(found((await answer({ ...search, ...results })).record)).toEqual([
        [expect.objectContaining({ filename: 'beacon.txt' })],
      ]);
      expect(found((await answer(search)).record)).toEqual([null]);
    },
    bad: [['everything'], 'invalid_request', 'platform.include.0'],
  },
  'platform.truncation': {
    effect: 'disabled, its only value, refuses what does not fit',
    prove: async () => {
      const body = {
        model: 'small',
        input: { text: 'tide and harbour '.repeat(50) },
        platform: { truncation: 'disabled' },
      };
      const reply = await send('POST', 'responses', { ...hello, ...body });
      expect(reply).toMatchObject({
        status: 422,
        body: { error: { code: 'context_length_exceeded', param: 'input' } },
      });
    },
    bad: ['auto', 'invalid_request', 'platform.truncation'],
  },
  'platform.max_iterations': {
    effect: 'ends the loop',
    prove: async () => {
      const { record, asked } = await answer({
        ...search,
        model: 'endless',
        platform: { max_iterations: 2 },
      });
      expect(record).toMatchObject({
        status: 'incomplete',
        platform: { incomplete_reason: 'max_iterations', iteration_count: 2 },
      });
      expect(asked.length).toBe(2);
    },
    bad: [51, 'invalid_request', 'platform.max_iterations'],
  },
  'platform.max_tool_calls': {
    effect: 'ends the loop before a call too many',
    prove: async () => {
      const { record } = await answer({ ...search, model: 'endless', platform: { max_tool_calls: 1 } });
      expect(record).toMatchObject({
        status: 'incomplete',
        platform: { incomplete_reason: 'max_tool_calls', tool_call_count: 1 },
      });
    },
    bad: [0, 'invalid_request', 'platform.max_tool_calls'],
  },
  'platform.max_cost_usd': {
    effect: 'is kept before the model is asked',
    prove: async () => {
      const { record, asked } = await answer({ platform: { max_cost_usd: '0.000001' } });
      expect(record).toMatchObject({
        status: 'incomplete',
        platform: { incomplete_reason: 'max_cost' },
        usage: { cost_usd: '0.000000' },
      });
      expect(asked).toEqual([]);
    },
    bad: [1, 'invalid_request', 'platform.max_cost_usd'],
  },
  'platform.timeout_seconds': {
    effect: 'ends a response whose model says nothing',
    prove: async () => {
      const { record } = await answer({ model: 'stuck', platform: { timeout_seconds: 1 } });
      expect(record).toMatchObject({
        status: 'incomplete',
        platform: { incomplete_reason: 'deadline_exceeded' },
      });
    },
    bad: [3601, 'invalid_request', 'platform.timeout_seconds'],
  },
  'platform.on_busy': {
    effect: 'waits for a running parent, cancels it, or refuses to go on from it',
    prove: async () => {
      const running = await made('responses', { ...hello, model: 'slow' });
      const body = { ...hello, previous_response_id: running };
      const refused = await send('POST', 'responses', body);
      expect(refused).toMatchObject({
        status: 409,
        body: { error: { code: 'previous_response_in_progress' } },
      });
      const waited = await answer({ ...body, platform: { on_busy: 'enqueue' } });
      expect(waited.record.status).toBe('completed');
      expect(waited.asked.at(-1)!.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
      expect((await send('GET', `responses/${running}`)).body.data.status).toBe('completed');

      const stuck = await made('responses', { ...hello, model: 'stuck' });
      const { record } = await answer({
        ...hello,
        previous_response_id: stuck,
        platform: { on_busy: 'cancel_previous' },
      });
      expect(record.status).toBe('completed');
      expect((await send('GET', `responses/${stuck}`)).body.data.status).toBe('cancelled');
    },
    bad: ['wait', 'invalid_request', 'platform.on_busy'],
  },
  'platform.on_generation_loss': {
    effect: 'continues, restarts or fails after a broken generation',
    prove: async () => {
      const received = async (on_generation_loss: string) => {
        models.reset();
        return (await answer({ model: 'broken', platform: { on_generation_loss } })).record;
      };
      const continued = await received('continue');
      expect([continued.status, lastText(continued), continued.platform.attempts]).toEqual([
        'completed',
        text,
        2,
      ]);
      const restarted = await received('restart');
      expect([restarted.status, lastText(restarted)]).toEqual(['completed', text]);
      const added = (await eventTypes(restarted.id)).filter((type) => type === 'response.output_item.added');
      expect(added.length).toBe(2);
      const failed = await received('fail');
      expect(failed).toMatchObject({
        status: 'failed',
        platform: { failure_reason: { code: 'generation_lost' } },
      });
    },
    bad: ['shrug', 'invalid_request', 'platform.on_generation_loss'],
  },
  'platform.on_unknown_tool_outcome': {
    effect: 'tells the model of an unknown outcome, or ends the response',
    prove: async () => {
      const server = { slug: 'ledger', url: ledger.url, display_name: 'Ledger' };
      const { body } = await send('POST', 'mcp-servers', server);
      const path = `mcp-servers/${body.data.mcp_server_config_id}`;
      await untilStatus(path, 'connected');
      await send('PATCH', path, { enabled_tools: ['*'] });
      // The effect is written, and its answer never arrives.
      await ledger.control({ drop: true });
      const received = async (on_unknown_tool_outcome: string) =>
        (await answer({ model: 'writer', tools: undefined, platform: { on_unknown_tool_outcome } })).record;
      expect(await received('report')).toMatchObject({
        status: 'completed',
        platform: { failure_reason: null },
      });
      expect(await received('fail')).toMatchObject({
        status: 'failed',
        platform: { failure_reason: { code: 'tool_outcome_unknown' } },
      });
      await send('DELETE', path);
    },
    bad: ['retry', 'invalid_request', 'platform.on_unknown_tool_outcome'],
  },
  'platform.stream_granularity': {
    effect: 'item holds the text back until it is whole',
    prove: async () => {
      const token = await streamed({ model: 'slow' });
      const item = await streamed({ model: 'slow', platform: { stream_granularity: 'item' } });
      expect(item.spanMs).toBeLessThan(token.spanMs / 3);
    },
    bad: ['word', 'invalid_request', 'platform.stream_granularity'],
  },
  'platform.stream_events': {
    effect: 'adds the platform’s own events',
    prove: async () => {
      const received = async (stream_events: boolean) => {
        models.reset();
        const { record } = await answer({ model: 'broken', platform: { stream_events } });
        return (await eventTypes(record.id)).filter((type) => type.startsWith('platform.'));
      };
      expect(await received(true)).toEqual(['platform.continued']);
      expect(await received(false)).toEqual([]);
    },
    bad: ['all', 'invalid_request', 'platform.stream_events'],
  },
  'platform.skill_id': {
    effect: 'gives the model the instructions of a skill, before the caller’s own',
    prove: async () => {
      const admin = async (path: string, body?: object) => {
        const answered = await fetch(`${stack.gateways[0]!.url}/api/v1/admin/skills${path}`, {
          method: 'POST',
          headers: body === undefined ? { 'x-api-key': world.apiKey } : credentials(),
          ...(body && { body: JSON.stringify(body) }),
        });
        return ((await answered.json()) as { data: { id: string } }).data.id;
      };
      const skill = await admin('', { name: 'Rhymes' });
      const version = await admin(`/${skill}/versions`, { instructions: 'Answer in rhymes.' });
      await admin(`/${skill}/versions/${version}/publish`);
      const { record, asked } = await answer({ platform: { skill_id: skill, instructions: 'Be brief.' } });
      expect(asked[0]!.messages.slice(0, 2)).toEqual([
        { role: 'system', content: 'Answer in rhymes.' },
        { role: 'system', content: 'Be brief.' },
      ]);
      expect(record.platform.governance_applied.skill).toEqual({
        id: skill,
        version_id: version,
        version: 1,
      });
    },
    bad: ['skill_1', 'invalid_request', 'platform.skill_id'],
  },
  'platform.thread_id': {
    effect: 'puts the messages of the thread before the new input',
    prove: async () => {
      const { thread_id: id } = await begun('The boat is red.');
      const { asked } = await answer({ platform: { thread_id: id } });
      expect(asked[0]?.messages.map(({ content }) => content)).toEqual([
        'The boat is red.',
        hello.input.text,
      ]);
    },
    bad: ['thread_1', 'invalid_request', 'platform.thread_id'],
  },
  'platform.branch_id': {
    effect: 'takes the messages of that branch',
    prove: async () => {
      const first = await begun('The boat is red.');
      const at = `threads/${first.thread_id}/messages`;
      await send('POST', at, { content: 'No, green.' });
      const fork = await send('POST', at, { content: 'No, blue.', parent_message_id: first.id });
      const branch = fork.body.data.branch_id as string;
      const { asked } = await answer({ platform: { thread_id: first.thread_id, branch_id: branch } });
      const received = asked[0]?.messages.map(({ content }) => content);
      expect(received).toEqual(['The boat is red.', 'No, blue.', hello.input.text]);
    },
    bad: ['branch_1', 'invalid_request', 'platform.branch_id'],
  },
  'platform.collection_ids': {
    effect: 'narrows the search',
    prove: async () => {
      const within = async (id: string) => {
        const platform = { ...results.platform, collection_ids: [id] };
        return found((await answer({ ...search, platform })).record).flat().length;
      };
      expect([await within(collections.full), await within(collections.empty)]).toEqual([1, 0]);
    },
    bad: [['not-a-uuid'], 'invalid_request', 'platform.collection_ids.0'],
  },
};

const png = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUg==';
const pdf = 'data:application/pdf;base64,JVBERi0xLjQKJSVFT0Y=';
const note = `data:text/plain;base64,${Buffer.from('High water at noon.').toString('base64')}`;

interface Part {
  part: object;
  /** The part that the model receives. */
  shown: object;
  /** Of its input items. */
  kept: object;
}

/** Parts of a user's message other than text. */
const parts: Record<string, Part> = {
  'input_image with a detail': {
    part: { type: 'input_image', image_url: png, detail: 'low' },
    shown: { type: 'image_url', image_url: { url: png } },
    kept: { type: 'input_image', image_url: png, detail: 'low' },
  },
  'input_file as a data URL': {
    part: { type: 'input_file', filename: 'tides.pdf', file_data: pdf },
    shown: { type: 'file', file: { filename: 'tides.pdf', file_data: pdf } },
    kept: { type: 'input_file', filename: 'tides.pdf', file_data: pdf },
  },
  'input_file as bare base64': {
    part: { type: 'input_file', filename: 'tides.pdf', file_data: pdf.split(',')[1] },
    shown: { type: 'file', file: { filename: 'tides.pdf', file_data: pdf } },
    kept: { type: 'input_file', filename: 'tides.pdf', file_data: pdf },
  },
  'input_file of text': {
    part: { type: 'input_file', filename: 'note.txt', file_data: note },
    shown: { type: 'text', text: 'note.txt:\nHigh water at noon.' },
    kept: { type: 'input_file', filename: 'note.txt', file_data: note },
  },
};

const refusedParts: [name: string, part: object, code: string, model?: string][] = [
  ['an image for a model of text', { type: 'input_image', image_url: png }, 'unsupported_parameter', 'plain'],
  ['a file for a model of text', parts['input_file of text']!.part, 'unsupported_parameter', 'plain'],
  ['a remote image', { type: 'input_image', image_url: 'https://a.test/a.png' }, 'remote_url_not_allowed'],
  ['a remote file', { type: 'input_file', file_url: 'https://a.test/a.pdf' }, 'remote_url_not_allowed'],
  ['no base64', { type: 'input_image', image_url: 'data:image/png;base64,*' }, 'invalid_request'],
  ['an unknown type', { type: 'input_image', image_url: 'data:image/tiff;base64,AAAA' }, 'invalid_request'],
  [
    'another type than said',
    { type: 'input_image', image_url: png.replace('png', 'gif') },
    'invalid_request',
  ],
  ['an image as a file', { type: 'input_file', filename: 'a.png', file_data: png }, 'invalid_request'],
  ['a file of no type', { type: 'input_file', filename: 'a', file_data: 'AAAA' }, 'invalid_request'],
  ['nothing', { type: 'input_file', filename: 'a.pdf' }, 'invalid_request'],
];

/** The fields of the request as our own OpenAPI document lists them. */
function fields(): string[] {
  const body = described.document.components.schemas.CreateResponseInput!.properties as Record<
    string,
    JsonSchema
  >;
  const [platform] = (body.platform as { anyOf: JsonSchema[] }).anyOf;
  const inner = Object.keys((platform as { properties: object }).properties);
  return [...Object.keys(body), ...inner.map((name) => `platform.${name}`)];
}

describe('the request of a response', () => {
  it('has a row here for every field, and for no other', () => {
    expect(new Set(Object.keys(rows))).toEqual(new Set(fields()));
  });

  it.each(Object.entries(rows).map(([field, row]) => ({ field, ...row })))(
    '$field $effect',
    async ({ field, prove, bad }) => {
      const [value, code, param] = bad;
      const [outer, inner] = field.split('.');
      const patch = inner === undefined ? { [field]: value } : { [outer!]: { [inner]: value } };
      const refused = await send('POST', 'responses', { ...hello, ...patch });
      expect([refused.body.error?.code, refused.body.error?.param]).toEqual([code, param]);
      expect(refused.status).toBe(code.endsWith('_not_found') ? 404 : 422);
      await prove();
    },
  );
});

describe('a part of a message', () => {
  it.each(Object.entries(parts))(
    '%s is sent to the model and stored',
    async (_name, { part, shown, kept }) => {
      const content = [{ type: 'input_text', text: 'What is it?' }, part];
      const { asked, record } = await answer({ model: 'thinker', input: { role: 'user', content } });
      expect(asked[0]!.messages[0]).toMatchObject({
        content: [{ type: 'text', text: 'What is it?' }, shown],
      });
      const page = await send('GET', `responses/${record.id}/input_items`);
      expect(page.body.data[0].content).toEqual([{ type: 'input_text', text: 'What is it?' }, kept]);
    },
  );

  it.each(refusedParts)('%s is refused', async (_name, part, code, model = 'thinker') => {
    const input = { role: 'user', content: [{ type: 'input_text', text: 'What is it?' }, part] };
    const { status, body } = await send('POST', 'responses', { ...hello, model, input });
    expect([status, body.error.code, body.error.param]).toEqual([422, code, 'input']);
  });

  it('only a user sends files', async () => {
    const input = { role: 'assistant', content: [parts['input_file of text']!.part] };
    const { body } = await send('POST', 'responses', { ...hello, model: 'thinker', input });
    expect(body.error).toMatchObject({ code: 'invalid_request', param: 'input' });
  });

  it('a large image counts as an image, not as its base64 text, against the context', async () => {
    const large = Buffer.concat([Buffer.from(png.split(',')[1]!, 'base64'), Buffer.alloc(1_500_000, 7)]);
    const image = { type: 'input_image', image_url: `data:image/png;base64,${large.toString('base64')}` };
    const { record } = await answer({ model: 'thinker', input: { role: 'user', content: [image] } });
    expect(record.status).toBe('completed');
  });
});

describe('a reasoning item of the input', () => {
  it('is stored and shown, and sent to no other model than its author', async () => {
    const summary = [{ type: 'summary_text', text: 'The book knows.' }];
    const reasoning = { type: 'reasoning', id: 'rs_elsewhere', summary, encrypted_content: 'c2VjcmV0' };
    const items = [{ role: 'user', content: 'When?' }, reasoning, { role: 'user', content: 'Now?' }];
    const { asked, record } = await answer({ input: { items } });
    expect(asked[0]!.messages.map(({ content }) => content)).toEqual(['When?', 'Now?']);
    const page = await send('GET', `responses/${record.id}/input_items`);
    const kept = (page.body.data as { type: string }[]).find(({ type }) => type === 'reasoning');
    expect(kept).toEqual({
      id: expect.stringMatching(/^rs_/),
      type: 'reasoning',
      status: 'completed',
      summary,
    });
  });
});
