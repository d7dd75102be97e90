import type { ServerResponse } from 'node:http';
import { afterEach, expect, it } from 'vitest';
import { createGuardedFetch } from '#adapters/egress/guarded-fetch.ts';
import { createToolServers } from '#adapters/tools/mcp-client.ts';
import { schemaHash } from '#domain/capabilities/tools/tool-server.ts';
import { startOddToolServer, type Answer, type OddToolServer } from '../support/odd-tool-server.ts';
import { unsharedSession } from '../support/unshared-session.ts';

const forever = new AbortController().signal;
const spaceId = '0199a000-0000-7000-8000-000000000001';
const event = (message: object) => `data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`;
const done = { content: [{ type: 'text', text: 'done' }] };

let server: OddToolServer;
afterEach(() => server?.stop());

async function call(tool: string) {
  const gateway = createToolServers({
    fetch: createGuardedFetch([server.origin]),
    credentials: [],
    env: {},
  });
  const spec = { tenantId: 'tenant', spaceId, url: server.url, credentialRef: null, credentialHeader: null };
  const found = (await gateway.discover(spec, forever)).tools.find(({ name }) => name === tool)!;
  const outgoing = { tool, arguments: {}, idempotencyKey: 'key', schemaHash: schemaHash(found) };
  return gateway.call(spec, outgoing, {
    signal: forever,
    session: unsharedSession(),
    confirm: () => Promise.resolve(true),
  });
}

/** Answers when the client has made too many requests or has had enough time for them. */
function inTheEnd(id: unknown, response: ServerResponse, tooOften: () => boolean): void {
  const startedAt = performance.now();
  const timer = setInterval(() => {
    if (!tooOften() && performance.now() - startedAt < 700) return;
    clearInterval(timer);
    response.end(event({ id, result: done }));
  }, 10);
}

it.each(['ping', 'sampling/createMessage', 'elicitation/create', 'anything'])(
  'a server that asks for %s without end, and reads no answer, holds few connections',
  async (method) => {
    const answers = () =>
      server.requests.filter(({ asked }) => asked !== null && !('method' in asked)).length;
    const asking: Answer = ({ id }, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (let n = 0; n < 200; n += 1) response.write(event({ id: `own-${n}`, method, params: {} }));
      inTheEnd(id, response, () => answers() > 4);
    };
    server = await startOddToolServer(
      { ask: { answer: asking } },
      (asked) => asked !== null && !('method' in asked),
    );
    expect(await call('ask')).toEqual({ kind: 'succeeded', text: 'done' });
    expect(answers()).toBeLessThanOrEqual(4);
  },
);

it('a server that ends its stream at once, again and again, is not asked again at once', async () => {
  const again = () => server.requests.filter(({ headers }) => headers['last-event-id'] !== undefined).length;
  const slow: Answer = ({ id }, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    inTheEnd(id, response, () => again() > 4);
  };
  server = await startOddToolServer({ slow: { answer: slow } }, (_asked, response, request) => {
    if (request.method !== 'GET') return false;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end('retry: 0\nid: 1\ndata:\n\n');
    return true;
  });
  expect(await call('slow')).toEqual({ kind: 'succeeded', text: 'done' });
  expect(again()).toBeLessThanOrEqual(4);
});
