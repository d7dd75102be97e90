import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { jsonSchema, streamText, tool } from 'ai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ContinuationMatcher, shownPrefix } from '#domain/responses/stream/continuation.ts';
import { splitPieces } from '../support/model-script.ts';
import type { Manner, Script } from '../support/model-script.ts';
import { startModelServer } from '../support/model-server.ts';
import type { ModelServer, RequestRecord } from '../support/model-server.ts';

const text =
  'Durable answers survive a kill.\n\nEach event is stored before anybody sees it, so a reader 👩‍👩‍👧 who comes back with a cursor misses nothing at all.';
const alternateText = 'Durable answers survive anything, and this one is told in quite other words.';
const manners: Manner[] = [
  'honours_prefix',
  'restarts',
  'overlaps',
  'diverges',
  'refuses_trailing_assistant',
];
const scripts: Script[] = [
  ...manners.map((manner): Script => ({ name: manner, manner, text, alternateText, seed: 7 })),
  { name: 'tools', toolRounds: 2, toolQuery: ['first', 'second'], text, commentary: 'Looking it up.' },
  {
    name: 'failing',
    text,
    fail: [
      { onAttempt: 1, status: 429, retryAfterSeconds: 1, code: 'rate_limit_exceeded' },
      { onAttempt: 2, status: 500 },
      { onAttempt: 3, dropAfterChars: 40 },
      { onAttempt: 4, errorAfterChars: 40 },
      { onAttempt: 5, hang: true },
      { onAttempt: 6, hangAfterChars: 40 },
    ],
  },
];

let server: ModelServer;
beforeAll(async () => {
  server = await startModelServer(scripts, { apiKey: 'test-key' });
});
afterAll(() => server.stop());

const user = (content: string) => ({ role: 'user', content });
const assistant = (content: string) => ({ role: 'assistant', content });
const knowledgeSearch = {
  type: 'function',
  function: { name: 'knowledge_search', parameters: { type: 'object' } },
};

function ask(body: object, init: { key?: string; signal?: AbortSignal } = {}) {
  return fetch(`${server.url}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${init.key ?? 'test-key'}` },
    body: JSON.stringify({ model: 'honours_prefix', messages: [user('Hi')], stream: true, ...body }),
    ...(init.signal && { signal: init.signal }),
  });
}

interface Chunk {
  choices: { delta: { content?: string | null; tool_calls?: unknown[] }; finish_reason: string | null }[];
  usage?: { total_tokens: number } | null;
}

async function readChunks(response: Response): Promise<Chunk[]> {
  expect(response.status).toBe(200);
  const blocks = (await response.text()).split('\n\n');
  expect(blocks.slice(-2)).toEqual(['data: [DONE]', '']);
  return blocks.slice(0, -2).map((block) => JSON.parse(block.slice('data: '.length)) as Chunk);
}

const contents = (chunks: Chunk[]) =>
  chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').filter(Boolean);

describe('the scripted model server', () => {
  test('streams the script of the model, or of the marker in the last marked user message', async () => {
    expect(contents(await readChunks(await ask({}))).join('')).toBe(text);
    const messages = [user('[[script:failing]]'), assistant('x'), user('What now? [[script:restarts]]')];
    await readChunks(await ask({ messages }));
    expect(server.requests.at(-1)).toMatchObject({
      script: 'restarts',
      strategy: 'fresh',
      outcome: 'complete',
    });
  });

  test('cuts the text the same way for the same seed, in pieces of 1 to 12 units that are well formed', async () => {
    const pieces = splitPieces('👩‍👩‍👧 né '.repeat(40), 3);
    expect(pieces).toEqual(splitPieces('👩‍👩‍👧 né '.repeat(40), 3));
    expect(pieces).not.toEqual(splitPieces('👩‍👩‍👧 né '.repeat(40), 4));
    expect(pieces.join('')).toBe('👩‍👩‍👧 né '.repeat(40));
    expect(pieces.every((piece) => piece.isWellFormed() && piece.length >= 1 && piece.length <= 12)).toBe(
      true,
    );
    expect(pieces.some((piece) => piece.endsWith('\u200d'))).toBe(true);
  });

  test('reports usage in a last chunk only when asked', async () => {
    const without = await readChunks(await ask({}));
    expect(without.every((chunk) => chunk.usage === undefined && chunk.choices.length === 1)).toBe(true);
    const chunks = await readChunks(await ask({ stream_options: { include_usage: true } }));
    expect(chunks.at(-2)).toMatchObject({ usage: null, choices: [{ finish_reason: 'stop' }] });
    expect(chunks.at(-1)).toMatchObject({
      choices: [],
      usage: { total_tokens: 1 + Math.ceil(text.length / 4) },
    });
  });

  test('stops at the token limit with finish reason length', async () => {
    const chunks = await readChunks(await ask({ max_completion_tokens: 5 }));
    expect(contents(chunks).join('')).toBe(text.slice(0, 20));
    expect(chunks.at(-1)!.choices[0]!.finish_reason).toBe('length');
  });
});

describe('the scripted model server is as strict as a vendor:', () => {
  const call = { id: 'c1', type: 'function', function: { name: 'knowledge_search', arguments: '{}' } };
  const called = { role: 'assistant', content: null, tool_calls: [call] };
  const answer = { role: 'tool', tool_call_id: 'c1', content: 'x' };
  test.each<[string, object, string]>([
    ['an unknown top-level field', { top_k: 3 }, 'top_k'],
    ['no stream', { stream: false }, 'stream'],
    ['no messages', { messages: [] }, 'messages'],
    ['an unknown role', { messages: [{ role: 'narrator', content: 'x' }] }, 'messages.0.role'],
    ['an unknown field of a message', { messages: [{ ...user('x'), id: 'm' }] }, 'messages.0.id'],
    ['a tool message without call', { messages: [user('x'), answer] }, 'messages.[1].role'],
    ['a second answer to one call', { messages: [user('x'), called, answer, answer] }, 'messages.[3].role'],
    ['a call left unanswered', { messages: [user('x'), called, user('y')] }, 'messages.[2].role'],
    ['a call unanswered at the end', { messages: [user('x'), called] }, 'messages.[1].role'],
    ['an assistant message without content', { messages: [{ role: 'assistant' }] }, 'messages.[0].role'],
    ['a tool choice without tools', { tool_choice: 'auto' }, 'tool_choice'],
    [
      'a tool choice of none of the tools',
      { tools: [knowledgeSearch], tool_choice: { type: 'function', function: { name: 'f' } } },
      'tool_choice',
    ],
    ['two tools of one name', { tools: [knowledgeSearch, knowledgeSearch] }, 'tools'],
    ['a temperature above 2', { temperature: 3 }, 'temperature'],
  ])('%s is a 400 that names the parameter', async (_, body, param) => {
    const response = await ask(body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { type: 'invalid_request_error', param } });
    expect(server.requests.at(-1)).toMatchObject({ outcome: 'refused', status: 400 });
  });

  test('a wrong key is a 401 and an unknown model a 404', async () => {
    expect((await ask({}, { key: 'other' })).status).toBe(401);
    expect((await ask({ model: 'gpt-0' })).status).toBe(404);
  });
});

describe.each(['prefill', 'instruct'] as const)('a request that carries the prefix by %s', (strategy) => {
  const request = (model: string, prefix: string) => {
    const instruct = user('Continue exactly where your last message ends.');
    return {
      model,
      messages: [user('Hi'), assistant(prefix), ...(strategy === 'instruct' ? [instruct] : [])],
    };
  };

  test.each<[Manner, string]>([
    ['honours_prefix', text],
    ['restarts', text],
    ['overlaps', text],
    ['diverges', alternateText],
    ...(strategy === 'instruct' ? ([['refuses_trailing_assistant', text]] as [Manner, string][]) : []),
  ])('to a model that plays %s ends in the text of the script for every cut', async (manner, expected) => {
    for (let cut = 1; cut < text.length; cut += 3) {
      const prefix =
        text.slice(0, cut).toWellFormed() === text.slice(0, cut)
          ? text.slice(0, cut)
          : text.slice(0, cut - 1);
      const shown = shownPrefix(prefix);
      const matcher = new ContinuationMatcher(prefix);
      let whole = prefix;
      const pieces = contents(await readChunks(await ask(request(manner, shown))));
      for (const decide of [...pieces.map((piece) => () => matcher.push(piece)), () => matcher.end()]) {
        const decision = decide();
        if (decision.kind === 'append') whole += decision.text;
        if (decision.kind === 'restart') whole = decision.text;
      }
      expect(whole).toBe(expected);
    }
    expect(server.requests.at(-1)).toMatchObject({ strategy, script: manner });
  });
});

test('a model that refuses a trailing assistant message answers 400 to it', async () => {
  const response = await ask({
    model: 'refuses_trailing_assistant',
    messages: [user('Hi'), assistant('Durable')],
  });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({
    error: { type: 'invalid_request_error', param: 'messages' },
  });
});

test('an ordinary client runs the tool rounds of a script and gets its text', async () => {
  server.reset();
  const provider = createOpenAICompatible({
    name: 'scripted',
    baseURL: server.url,
    apiKey: 'test-key',
    includeUsage: true,
  });
  const asked: unknown[] = [];
  const result = streamText({
    model: provider('tools'),
    prompt: 'What survives?',
    tools: {
      knowledge_search: tool({
        inputSchema: jsonSchema<{ query: string }>({
          type: 'object',
          properties: { query: { type: 'string' } },
        }),
        execute: ({ query }) => {
          asked.push(query);
          return 'a passage';
        },
      }),
    },
    stopWhen: ({ steps }) => steps.length === 5,
  });
  expect((await result.text).endsWith(text)).toBe(true);
  expect(asked).toEqual(['first', 'second']);
  expect(server.requests.map(({ round, source, outcome }) => [round, source, outcome])).toEqual([
    [0, 'commentary', 'complete'],
    [1, 'commentary', 'complete'],
    [2, 'text', 'complete'],
  ]);
  const ids = server.requests.map((each) => each.toolCallId).filter((id) => id !== null);
  expect(new Set(ids).size).toBe(2);
});

test('a script fails as it says, per attempt at one conversation', async () => {
  server.reset();
  const attempt = (signal?: AbortSignal) => ask({ model: 'failing' }, signal && { signal });
  const first = await attempt();
  expect([first.status, first.headers.get('retry-after')]).toEqual([429, '1']);
  expect(await first.json()).toMatchObject({ error: { code: 'rate_limit_exceeded' } });
  expect((await attempt()).status).toBe(500);
  await expect((await attempt()).text()).rejects.toThrow('terminated');
  expect(await (await attempt()).text()).toContain('{"error":{"message":"The server had an error');
  await expect(attempt(AbortSignal.timeout(100))).rejects.toThrow('timeout');
  await expect((await attempt(AbortSignal.timeout(100))).text()).rejects.toThrow('timeout');
  expect(contents(await readChunks(await attempt())).join('')).toBe(text);
  await expect.poll(() => server.requests[5]!.outcome).toBe('closed');
  expect(server.requests.map(({ attempt: n, outcome }) => [n, outcome])).toEqual([
    [1, 'failed'],
    [2, 'failed'],
    [3, 'failed'],
    [4, 'failed'],
    [5, 'closed'],
    [6, 'closed'],
    [7, 'complete'],
  ]);
  const dropped = server.requests[2]!.streamed;
  expect(text.startsWith(dropped) && dropped.length > 28 && dropped.length <= 40).toBe(true);
});

test('a script with an invisible divergence is refused', async () => {
  const script: Script = { name: 'x', manner: 'diverges', text, alternateText: 'Durable' };
  await expect(startModelServer([script])).rejects.toThrow('must share 16 characters');
});

test('runs as a process of its own, with its records over HTTP', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'scripts-'));
  const file = join(folder, 'scripts.json');
  writeFileSync(file, JSON.stringify(scripts));
  const program = new URL('../support/model-server.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [program, '--port', '0', '--scripts', file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    const { port } = JSON.parse(line.toString()) as { port: number };
    const base = `http://127.0.0.1:${port}`;
    const body = JSON.stringify({ model: 'restarts', messages: [user('Hi')], stream: true });
    expect(
      contents(await readChunks(await fetch(`${base}/v1/chat/completions`, { method: 'POST', body }))).join(
        '',
      ),
    ).toBe(text);
    const records = async () => (await (await fetch(`${base}/__requests`)).json()) as RequestRecord[];
    expect(await records()).toMatchObject([{ script: 'restarts', streamed: text, outcome: 'complete' }]);
    await fetch(`${base}/__reset`, { method: 'POST' });
    expect(await records()).toEqual([]);
  } finally {
    child.kill();
    const [code] = (await once(child, 'exit')) as [number | null];
    rmSync(folder, { recursive: true });
    expect(code).toBe(0);
  }
});
