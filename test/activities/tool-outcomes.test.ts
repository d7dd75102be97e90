import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { MockActivityEnvironment } from '@temporalio/testing';
import { createMcpHandler, inputRequired, McpServer } from '@modelcontextprotocol/server';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { createGuardedFetch } from '#adapters/egress/guarded-fetch.ts';
import { createToolServers } from '#adapters/tools/mcp-client.ts';
import { runCall } from '#activities/responses/run-call.ts';
import type { ToolServerGateway } from '#domain/capabilities/tools/tool-server.ts';
import { connectServer } from '../support/connected-server.ts';
import { openEngine, type Engine } from '../support/engine.ts';
import { longTexts } from '../support/long-texts.ts';
import {
  answerJson,
  startOddToolServer,
  type Answer,
  type OddToolServer,
} from '../support/odd-tool-server.ts';
import { secrets } from '../support/world.ts';

const text = (said: string) => ({ content: [{ type: 'text', text: said }] });
const answering =
  (result: object): Answer =>
  ({ id }, response) =>
    answerJson(response, id, result);
const status =
  (code: number, headers: Record<string, string> = {}): Answer =>
  (_asked, response) => {
    response.writeHead(code, headers).end('no');
  };
const streaming =
  (events: (id: unknown) => string): Answer =>
  ({ id }, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(events(id));
  };
const event = (message: object) => `event: message\ndata: ${JSON.stringify(message)}\n\n`;
const png = 'iVBORw0KGgoAAAAN';
const outputSchema = { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] };
const long = 'x'.repeat(5 * 1_048_576);
const unknown = { status: 'failed', error: { code: 'tool_outcome_unknown' } };
const leftOut = '[The tool has answered; its answer was too large and was left out.]';

/** A row of the table in docs/durability.md: the server's answer, and the outcome of the call. */
const rows: Record<string, { answer: Answer; more?: object; item: object }> = {
  no_structure: {
    more: { outputSchema },
    answer: answering(text('Paid.')),
    item: { status: 'completed', output: 'Paid.' },
  },
  other_structure: {
    more: { outputSchema },
    answer: answering({ ...text('Paid.'), structuredContent: { sum: 'three' } }),
    item: { status: 'completed', output: 'Paid.' },
  },
  listed_structure: {
    answer: answering({ content: [], structuredContent: [1, 2] }),
    item: { status: 'completed', output: '[1,2]' },
  },
  odd_schema: {
    more: { outputSchema: { type: 'object', properties: { a: { $ref: '#/nowhere', pattern: '(' } } } },
    answer: answering({ ...text('Paid.'), structuredContent: {} }),
    item: { status: 'completed', output: 'Paid.' },
  },
  unknown_part: {
    answer: answering({ content: [{ type: 'hologram', data: 1 }, ...text('Paid.').content] }),
    item: { status: 'completed', output: '[hologram, not shown]\nPaid.' },
  },
  endless_structure: {
    answer: ({ id }, response) => {
      const nested = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(
        `{"jsonrpc":"2.0","id":${id},"result":{"content":[],"structuredContent":{"a":${nested}}}}`,
      );
    },
    item: { status: 'completed', output: '[structured content, nested too deeply to be shown]' },
  },
  picture: {
    answer: answering({
      content: [...text('Seen.').content, { type: 'image', mimeType: 'image/png', data: png }],
    }),
    item: { status: 'completed', output: `Seen.\n[image image/png, ${png.length} characters of base64]` },
  },
  no_picture: {
    answer: answering({ content: [{ type: 'image', mimeType: 'image/png', data: 'bm90IG9uZQ==' }] }),
    item: { status: 'completed', output: '[image image/png, 12 characters of base64, not shown]' },
  },
  no_content: { answer: answering({}), item: { status: 'completed', output: '' } },
  long_json: { answer: answering(text(long)), item: { status: 'completed', output: leftOut } },
  long_event: {
    answer: streaming((id) => event({ jsonrpc: '2.0', id, result: text(long) })),
    item: { status: 'completed', output: leftOut },
  },
  long_error: {
    answer: ({ id }, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -1, message: long } }));
    },
    item: { status: 'failed', error: { type: 'mcp_protocol_error' } },
  },
  long_notice: {
    answer: streaming(() => event({ jsonrpc: '2.0', method: 'notifications/message', params: { long } })),
    item: unknown,
  },
  timed_out: { answer: status(408), item: unknown },
  closed: { answer: status(499), item: unknown },
  in_conflict: { answer: status(409), item: unknown },
  broken: { answer: status(500), item: unknown },
  refused: { answer: status(422), item: { status: 'failed', error: { type: 'http_error', code: 422 } } },
  forbidden: { answer: status(403), item: { status: 'failed', error: { type: 'http_error', code: 403 } } },
  accepted: { answer: status(202), item: unknown },
  ended_stream: {
    answer: streaming(() => event({ jsonrpc: '2.0', method: 'notifications/message', params: {} })),
    item: unknown,
  },
  other_answer: {
    answer: (_asked, response) => answerJson(response, 'another', text('Paid.')),
    item: unknown,
  },
};

const misfits: string[] = [];
const misfit = ({ problem }: { problem: string }) => void misfits.push(problem);
const misfitting: Record<string, string> = {
  no_structure: 'missing',
  other_structure: 'different',
};

let engine: Engine;
let odd: OddToolServer;
let gateway: ToolServerGateway;

beforeAll(async () => {
  engine = await openEngine();
  odd = await startOddToolServer(
    Object.fromEntries(
      Object.entries(rows).map(([name, { answer, more }]) => [name, { answer, more: more ?? {} }]),
    ),
  );
  gateway = createToolServers({ fetch: createGuardedFetch([odd.origin]), credentials: [], env: {} });
  await connect('odd', odd.url, gateway);
});
afterAll(async () => {
  await odd?.stop();
  await engine?.stop();
});

async function connect(slug: string, url: string, servers: ToolServerGateway): Promise<void> {
  const { tenantId, spaceId } = engine.world;
  const spec = { tenantId, spaceId, url, credentialRef: null, credentialHeader: null };
  const { tools } = await servers.discover(spec, new AbortController().signal);
  await connectServer(engine, { slug, url, tools });
}

/** One call through the ledger. @returns its item */
async function made(name: string, toolServers: ToolServerGateway): Promise<unknown> {
  const responseId = await engine.create();
  await (
    await engine.attempt(responseId)
  ).commit({ calls: [{ name, arguments: '{}' }], reason: 'tool_calls' });
  const key = { tenantId: engine.world.tenantId, responseId, iteration: 0, callIndex: 0 };
  const { database, unitOfWork } = engine.database;
  const names = { find: () => Promise.resolve([]) };
  const metrics = {
    modelTurn: () => undefined,
    toolCall: () => undefined,
    toolMisfit: misfit,
    workflowStart: () => undefined,
    workflowSignal: () => undefined,
  };
  const deps = { database, unitOfWork, secrets, toolServers, metrics, names, longTexts };
  await new MockActivityEnvironment().run(() => runCall(deps, key));
  return (await engine.record(responseId)).output[0];
}

it.each(Object.entries(rows))(
  'a call at a server that answers as %s is resolved at once and once, as the table says',
  async (name, { item }) => {
    const since = performance.now();
    misfits.length = 0;
    expect(await made(`mcp__odd__${name}`, gateway)).toMatchObject({ type: 'mcp_call', name, ...item });
    expect(odd.effects.filter((each) => each === name)).toHaveLength(1);
    expect(misfits.join()).toBe(misfitting[name] ?? '');
    expect(performance.now() - since).toBeLessThan(15_000);
  },
);

it('a call of a tool that asks for more input fails, with that reason', async () => {
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'asker', version: '1' });
    server.registerTool('ask', { description: 'Asks.', inputSchema: z.object({}) }, () =>
      inputRequired({ requestState: 'half done' }),
    );
    return server;
  });
  const server = createServer((incoming, response) => {
    void (async () => {
      const parts: Buffer[] = [];
      for await (const part of incoming) parts.push(part as Buffer);
      const request = new Request('http://127.0.0.1/mcp', {
        method: incoming.method ?? 'POST',
        headers: Object.entries(incoming.headers).map(
          ([name, value]) => [name, String(value)] as [string, string],
        ),
        ...(parts.length > 0 && { body: Buffer.concat(parts) }),
      });
      const answer = await handler.fetch(request);
      response.writeHead(answer.status, Object.fromEntries(answer.headers));
      response.end(Buffer.from(await answer.arrayBuffer()));
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const servers = createToolServers({ fetch: createGuardedFetch([origin]), credentials: [], env: {} });
  await connect('asker', `${origin}/mcp`, servers);
  const item = await made('mcp__asker__ask', servers);
  server.closeAllConnections();
  server.close();
  expect(item).toMatchObject({
    status: 'failed',
    error: { code: 'tool_failed', message: expect.stringContaining('input') as string },
  });
});
