import { afterEach, expect, it } from 'vitest';
import { createGuardedFetch } from '#adapters/egress/guarded-fetch.ts';
import { createToolServers } from '#adapters/tools/mcp-client.ts';
import { isUsable } from '#domain/capabilities/tools/tool-definition.ts';
import { schemaHash } from '#domain/capabilities/tools/tool-server.ts';
import { answerJson, startOddToolServer, type OddToolServer } from '../support/odd-tool-server.ts';
import { unsharedSession } from '../support/unshared-session.ts';

const forever = new AbortController().signal;
const spaceId = '0199a000-0000-7000-8000-000000000001';
const event = (message: object) => `data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`;
const done = { content: [{ type: 'text', text: 'done' }] };

let server: OddToolServer;
afterEach(() => server?.stop());

const specOf = ({ url }: OddToolServer) => ({
  spaceId,
  url,
  credentialRef: null,
  credentialHeader: null,
  tenantId: 'tenant',
});
const gatewayTo = ({ origin }: OddToolServer, briefMs = 30_000) =>
  createToolServers({ fetch: createGuardedFetch([origin]), credentials: [], env: {}, briefMs });
const requests = (method: string) => server.requests.filter(({ asked }) => asked?.method === method).length;

async function call(tool: string) {
  const gateway = gatewayTo(server);
  const found = (await gateway.discover(specOf(server), forever)).tools.find(({ name }) => name === tool)!;
  const outgoing = { tool, arguments: {}, idempotencyKey: 'key', schemaHash: schemaHash(found) };
  return gateway.call(specOf(server), outgoing, {
    signal: forever,
    session: unsharedSession(),
    confirm: () => Promise.resolve(true),
  });
}

it('the pages of its list have a limit together', async () => {
  const description = 'x'.repeat(1_000_000);
  server = await startOddToolServer({}, (asked, response) => {
    if (asked?.method !== 'tools/list') return false;
    const page = requests('tools/list');
    answerJson(response, asked.id, {
      tools: [{ name: `t${page}`, description, inputSchema: { type: 'object' } }],
      nextCursor: String(page),
    });
    return true;
  });
  await expect(gatewayTo(server).discover(specOf(server), forever)).rejects.toMatchObject({
    code: 'too_large',
  });
  expect(requests('tools/list')).toBe(5);
});

it('a tool whose schema is nested without end hides no other one', async () => {
  const deep = `{"type":"object","properties":${'{"a":'.repeat(3_000)}{}${'}'.repeat(3_000)}}`;
  const answer = () => undefined;
  server = await startOddToolServer({
    deep: { more: { inputSchema: JSON.parse(deep) as object }, answer },
    plain: { answer },
  });
  const { tools: found } = await gatewayTo(server).discover(specOf(server), forever);
  expect(found.map((tool) => [tool.name, isUsable(tool)])).toEqual([
    ['', false],
    ['plain', true],
  ]);
});

it('a list of many small values is not stored', async () => {
  const values = Array.from({ length: 260_000 }, () => []);
  server = await startOddToolServer({
    odd: {
      more: { inputSchema: { type: 'object', properties: { values } } },
      answer: () => undefined,
    },
  });
  await expect(gatewayTo(server).discover(specOf(server), forever)).rejects.toMatchObject({
    code: 'too_large',
  });
});

it('a text with as many commas is no list of values', async () => {
  const text = '[],"'.repeat(300_000);
  server = await startOddToolServer({
    say: { answer: ({ id }, response) => answerJson(response, id, { content: [{ type: 'text', text }] }) },
  });
  expect(await call('say')).toEqual({ kind: 'succeeded', text });
});

it.each(['notifications/progress', 'notifications/tools/list_changed', 'notifications/message'])(
  'a server that sends %s without end beside a call is cut off',
  async (method) => {
    server = await startOddToolServer({
      chat: {
        answer: ({ id, params }, response) => {
          const { progressToken } = (params?.['_meta'] ?? {}) as { progressToken?: number };
          const received = event({ method, params: { progressToken, progress: 1, level: 'info', data: '' } });
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          response.end(received.repeat(12_000) + event({ id, result: done }));
        },
      },
    });
    await expect(call('chat')).rejects.toMatchObject({ code: 'too_large', sent: true });
  },
);

it('a server that never ends its answer to a notification does not block the client', async () => {
  server = await startOddToolServer({ late: { answer: () => undefined } }, (asked, response) => {
    if (asked?.method !== 'notifications/initialized') return false;
    response.writeHead(202).flushHeaders();
    return true;
  });
  const { tools: found } = await gatewayTo(server, 3_000).discover(specOf(server), forever);
  expect(found.map(({ name }) => name)).toEqual(['late']);
});
