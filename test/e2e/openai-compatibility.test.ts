import { createOpenAI } from '@ai-sdk/openai';
import { createOpenResponses } from '@ai-sdk/open-responses';
import { generateText, streamText, type LanguageModel } from 'ai';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseGatewayConfig, parseWorkerConfig } from '#domain/foundation/kernel/config.ts';
import { codexHeaders, codexRequest, type CodexCall } from '../support/codex-requests.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startModelServer, type ModelServer } from '../support/model-server.ts';
import { openResponsesEvent, openResponsesResource, problemsOf } from '../support/open-responses-schema.ts';
import { raisedLimits } from '../support/raised-limits.ts';
import { splitFrames } from '../support/sse-frames.ts';
import { masterKey, startStack, type Stack } from '../support/stack.ts';
import type { Json } from '../support/stream-events.ts';
import { createWorld, scriptedModel, type World } from '../support/world.ts';

let database: TestDatabase;
let models: ModelServer;
let stack: Stack;
let world: World;

const weather = [[{ name: 'get_weather', arguments: { location: 'San Francisco, CA' } }]];
const mark = [[{ name: 'exec_command', arguments: { cmd: 'cat mark' } }]];

beforeAll(async () => {
  models = await startModelServer([
    { name: 'tides', text: 'Twice a day.' },
    { name: 'weather', calls: weather, text: 'Foggy.' },
    { name: 'terminal', calls: mark, text: 'It says: high water.' },
    { name: 'refused', text: '', fail: [{ status: 400, code: 'unsupported_value', message: 'canary' }] },
    { name: 'unpaid', text: '', fail: [{ status: 429, code: 'insufficient_quota', message: 'canary' }] },
  ]);
  database = await createTestDatabase();
  const names = ['refused', 'unpaid', 'terminal', 'weather', 'tides'];
  world = await createWorld(
    database.unitOfWork,
    names.map((name) => ({ ...scriptedModel(models, name), inputModalities: ['text', 'image'] })),
  );
  stack = await startStack({ database, env: { ...defaults(), EGRESS_ALLOW: new URL(models.url).origin } });
});
afterAll(async () => {
  await stack?.stop();
  await models?.stop();
  await database?.drop();
});

/** The default limits of a deployment, where the other tests raise them. */
function defaults(): Record<string, string> {
  const env = {
    DATABASE_URL: database.url,
    DATABASE_PURGE_URL: database.purgeUrl,
    TEMPORAL_ADDRESS: 'unused',
    MASTER_KEY: masterKey,
  };
  const settings = { ...parseWorkerConfig(env), ...parseGatewayConfig(env) };
  const raised = Object.keys(raisedLimits) as (keyof typeof raisedLimits)[];
  return Object.fromEntries(raised.map((name) => [name, String(settings[name])]));
}

const baseURL = () => `${stack.gateways[0]!.url}/api/v1/spaces/${world.spaceId}/openai`;
const openai = () => new OpenAI({ baseURL: baseURL(), apiKey: world.apiKey });
const post = (body: object, headers: Record<string, string> = {}) =>
  fetch(`${baseURL()}/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${world.apiKey}`, ...headers },
    body: JSON.stringify(body),
  });

/** The events of a stream; each is checked against the schema. */
async function eventsOf(answer: Response): Promise<Json[]> {
  const { frames } = splitFrames(Buffer.from(await answer.arrayBuffer()));
  const events = frames.flatMap(({ json }) => (json === undefined ? [] : [json]));
  expect(events.flatMap((event) => problemsOf(openResponsesEvent, event))).toEqual([]);
  return events;
}

const user = (content: unknown) => ({ type: 'message', role: 'user', content });
const getWeather = {
  type: 'function',
  name: 'get_weather',
  description: 'The weather of a place.',
  parameters: { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] },
};
const png =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** The HTTP requests of Open Responses' compliance suite, all but compaction, with our own texts. */
const requests: Record<string, { model: string; input: unknown; tools?: object[]; ends?: string }> = {
  'a basic text': { model: 'tides', input: [user('Say hello.')] },
  'a text alone': { model: 'tides', input: 'Say hello.' },
  'messages with a phase': {
    model: 'tides',
    input: [
      { type: 'message', role: 'assistant', phase: 'commentary', content: 'I look at the table.' },
      { type: 'message', role: 'assistant', phase: 'final_answer', content: 'Four.' },
      user('Only the number.'),
    ],
  },
  'a system prompt': {
    model: 'tides',
    input: [{ type: 'message', role: 'system', content: 'You are a pirate.' }, user('Say hello.')],
  },
  'a tool of the client': {
    model: 'weather',
    input: [user('What is the weather in San Francisco?')],
    tools: [getWeather],
    ends: 'function_call',
  },
  'an image': {
    model: 'tides',
    input: [
      user([
        { type: 'input_text', text: 'What is this?' },
        { type: 'input_image', image_url: png },
      ]),
    ],
  },
  'a conversation': {
    model: 'tides',
    input: [
      user('My name is Alice.'),
      { type: 'message', role: 'assistant', content: 'Hello Alice!' },
      user('What is my name?'),
    ],
  },
};

describe.each(Object.entries(requests))('Open Responses: %s', (_name, { ends = 'message', ...body }) => {
  const isPlain = (resource: Json) => {
    expect(problemsOf(openResponsesResource, resource)).toEqual([]);
    expect(resource).toMatchObject({ status: 'completed', tools: body.tools ?? [] });
    expect((resource['output'] as Json[]).map(({ type }) => type)).toEqual([ends]);
  };

  it('is answered as its schema says', async () => {
    isPlain((await (await post(body)).json()) as Json);
  });

  it('is streamed as its schema says', async () => {
    const events = await eventsOf(await post({ ...body, stream: true }));
    expect(events.at(-1)!['type']).toBe('response.completed');
    isPlain(events.at(-1)!['response'] as Json);
  });
});

it('a plain request reaches the vendor as it was sent, with no additional prompt', async () => {
  models.reset();
  await post({ model: 'tides', input: 'Why tides?' });
  expect(models.requests).toHaveLength(1);
  const { messages, tools } = models.requests[0]!.body!;
  expect({ messages, tools }).toEqual({
    messages: [{ role: 'user', content: 'Why tides?' }],
    tools: undefined,
  });
});

it('Codex runs a command and answers with what it printed', async () => {
  const first = await eventsOf(await post(codexRequest('terminal'), codexHeaders));
  const [call] = (first.at(-1)!['response'] as { output: (CodexCall & { type: string })[] }).output;
  expect(call).toMatchObject({ type: 'function_call', name: 'exec_command' });
  const { id, call_id, name, arguments: given } = call!;
  const did = { call: { id, call_id, name, arguments: given }, output: 'Exit code: 0\nhigh water\n' };
  const second = await eventsOf(await post(codexRequest('terminal', did), codexHeaders));
  expect(second.at(-1)).toMatchObject({
    type: 'response.completed',
    response: {
      output: [{ type: 'message', content: [{ text: 'It says: high water.' }] }],
      tools: [{ name: 'exec_command' }, { name: 'write_stdin' }, { name: 'view_image' }],
      platform: {
        governance_applied: {
          tools_withheld: [
            { name: 'namespace/multi_agent_v1', reason: 'not_supported' },
            { name: 'web_search', reason: 'not_supported' },
          ],
        },
      },
    },
  });
});

type Failed = Error & { responseBody?: string };

describe('a vendor that refuses', () => {
  const answerOf: Record<string, (model: string) => Promise<unknown>> = {
    openai: (model) => openai().responses.create({ model, input: 'Why?' }),
    '@ai-sdk/openai': (model) => generate(createOpenAI({ baseURL: baseURL(), apiKey: world.apiKey })(model)),
    '@ai-sdk/open-responses': (model) =>
      generate(
        createOpenResponses({ name: 'platform', url: `${baseURL()}/responses`, apiKey: world.apiKey })(model),
      ),
  };
  const generate = (model: LanguageModel) => generateText({ model, prompt: 'Why?' });

  const failureOf = (name: string, model: string): Promise<Failed> => {
    models.reset();
    return answerOf[name]!(model).then(
      (answer) => new Error(`answered ${JSON.stringify(answer).slice(0, 200)}`),
      (thrown: Error) => thrown,
    );
  };

  it.each(Object.keys(answerOf))('is an error to %s, and never an empty answer', async (name) => {
    const error = await failureOf(name, 'refused');
    // One of the packages hides the body, and shows its message only beside a `param`.
    expect(`${error.message} ${error.responseBody}`).toContain(
      "The model's provider refused the request (HTTP 400, unsupported_value).",
    );
    expect(JSON.stringify(error) + error.message).not.toContain('canary');
    expect(models.requests).toHaveLength(1);
  });

  it('is not retried by clients that respect x-should-retry', async () => {
    const error = await failureOf('openai', 'unpaid');
    expect(error.message).toBe(
      "502 The model's provider does not serve this model to the platform (HTTP 429, insufficient_quota).",
    );
    expect(models.requests).toHaveLength(1);
  });

  it('is an error of the stream', async () => {
    const stream = openai().responses.stream({ model: 'refused', input: 'Why?' });
    expect((await stream.finalResponse()).status).toBe('failed');
    const { textStream } = streamText({
      model: createOpenAI({ baseURL: baseURL(), apiKey: world.apiKey })('refused'),
      prompt: 'Why?',
      onError: () => undefined,
    });
    const read = async () => {
      for await (const text of textStream) throw new Error(`answered ${text}`);
    };
    await read();
  });
});

it('200 calls of one key at once are all answered, with the default limits and the client’s own retries', async () => {
  const client = openai();
  const before = process.hrtime.bigint();
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, n) =>
      client.responses.create({ model: 'tides', input: `Question ${n}?` }).then(
        ({ output_text: text }) => text,
        (error: Error) => error.message,
      ),
    ),
  );
  console.log(`200 calls in ${Number((process.hrtime.bigint() - before) / 1_000_000n)} ms`);
  expect(new Set(answers)).toEqual(new Set(['Twice a day.']));
});
