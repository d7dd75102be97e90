import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
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
import { noMetrics } from '../support/no-metrics.ts';

const secret = 'sk-operators-7f3e9b-wombat';
const base64 = Buffer.from(`user ${secret}`).toString('base64');

/** A valid beginning, after which the secret is aligned as in `base64`. */
const image = (text: string) => Buffer.from(`\x89PNG\r\n\x1A\n\0${text}`, 'latin1').toString('base64');

/** Each tool's way of echoing the credential that it received. */
const echoes: Record<string, (sent: string) => object> = {
  said: (sent) => ({ content: [{ type: 'text', text: `You sent ${sent}.` }] }),
  split: (sent) => ({
    content: [sent.slice(0, 12), sent.slice(12)].map((text) => ({ type: 'text', text })),
  }),
  failed: (sent) => ({ content: [{ type: 'text', text: sent }], isError: true }),
  structured: (sent) => ({ content: [], structuredContent: { headers: { [sent]: base64 } } }),
  linked: (sent) => ({
    content: [
      { type: 'resource_link', name: 'x', uri: `https://a.example/?k=${encodeURIComponent(sent)}` },
      { type: 'image', mimeType: `image/${sent}`, data: image(`user ${secret}`) },
      { type: 'resource', resource: { uri: 'x:y', text: Buffer.from(sent).toString('hex') } },
    ],
  }),
};
const answer =
  (echo: (sent: string) => object): Answer =>
  ({ id }, response, request) =>
    answerJson(response, id, echo(String(request.headers.authorization)));

let engine: Engine;
let server: OddToolServer;
let gateway: ToolServerGateway;

beforeAll(async () => {
  engine = await openEngine({ inputModalities: ['text', 'image'] });
  server = await startOddToolServer({
    ...Object.fromEntries(Object.entries(echoes).map(([name, echo]) => [name, { answer: answer(echo) }])),
    refused: {
      answer: ({ id }, response, request) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        const error = { code: -32_000, message: `No: ${request.headers.authorization}` };
        response.end(JSON.stringify({ jsonrpc: '2.0', id, error }));
      },
    },
    described: {
      more: {
        description: secret,
        inputSchema: { type: 'object', properties: { [secret]: { enum: [base64] } } },
      },
      answer: answer(echoes['said']!),
    },
  });
  gateway = createToolServers({
    fetch: createGuardedFetch([server.origin]),
    credentials: [`KEY@${server.origin}`],
    env: { KEY: secret },
  });
  const credential = { ref: 'KEY', header: null };
  const spec = {
    spaceId: engine.world.spaceId,
    url: server.url,
    credentialRef: 'KEY',
    credentialHeader: null,
    tenantId: engine.world.tenantId,
  };
  const { tools } = await gateway.discover(spec, new AbortController().signal);
  await connectServer(engine, { slug: 'echo', url: server.url, credential, tools });
});
afterAll(async () => {
  await server?.stop();
  await engine?.stop();
});

it('a credential that a tool server sends back reaches no item, prompt, stream or definition', async () => {
  const responseId = await engine.create();
  const names = [...Object.keys(echoes), 'refused', 'described'];
  const calls = names.map((name) => ({ name: `mcp__echo__${name}`, arguments: '{}' }));
  await (await engine.attempt(responseId)).commit({ calls, reason: 'tool_calls' });
  const { database, unitOfWork } = engine.database;
  const deps = {
    database,
    unitOfWork,
    secrets,
    metrics: noMetrics,
    toolServers: gateway,
    longTexts,
    names: { find: () => Promise.resolve([]) },
  };
  for (const callIndex of names.keys()) {
    const key = { tenantId: engine.world.tenantId, responseId, iteration: 0, callIndex };
    await new MockActivityEnvironment().run(() => runCall(deps, key));
  }
  expect(server.effects).toEqual(names);
  const { turn } = await engine.attempt(responseId, 1);
  const { rows: tools } = await engine.admin.query('select * from mcp_tools');
  const received = {
    record: await engine.record(responseId),
    events: await engine.events(responseId),
    prompt: turn.messages,
    tools,
  };
  for (const [place, what] of Object.entries(received)) {
    const text = JSON.stringify(what).replaceAll('\\n', '');
    const forms = ['wombat', base64.slice(8, 30), Buffer.from(secret).toString('hex').slice(4, 30)];
    expect({ place, found: forms.filter((form) => text.includes(form)) }).toEqual({ place, found: [] });
    expect({ place, removed: text.includes('[credential removed]') }).toEqual({ place, removed: true });
  }
});
