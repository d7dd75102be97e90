import { afterAll, beforeAll, expect, it } from 'vitest';
import { openEngine, type Engine } from '../support/engine.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import type { World } from '../support/world.ts';

let engine: Engine;
let gateway: TestGateway;
let world: World;

beforeAll(async () => {
  engine = await openEngine();
  gateway = await openGateway(engine.database);
  ({ world } = engine);
});
afterAll(async () => {
  await gateway?.close();
  await engine?.stop();
});

const secure = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'origin-agent-cluster': '?1',
  'referrer-policy': 'no-referrer',
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
  'x-content-type-options': 'nosniff',
  'x-dns-prefetch-control': 'off',
  'x-download-options': 'noopen',
  'x-frame-options': 'SAMEORIGIN',
  'x-permitted-cross-domain-policies': 'none',
  'x-xss-protection': '0',
};

it.each([
  ['an answer', 200, (path: string) => ({ path, apiKey: world.apiKey })],
  ['a refusal', 401, (path: string) => ({ path })],
  ['an unknown path', 404, () => ({ path: '/v1/nowhere' })],
  ['a procedure', 200, () => ({ path: '/trpc/apiKeys.list?input=%7B%7D', apiKey: world.apiKey })],
])('%s bears the headers that keep browsers safe, and its own request id', async (_, status, call) => {
  const asked = call(`/v1/spaces/${world.spaceId}/collections`);
  const [first, second] = [
    await gateway.send({ method: 'GET', ...asked }),
    await gateway.send({ method: 'GET', ...asked }),
  ];
  expect(first.status).toBe(status);
  expect(first.headers).toMatchObject(secure);
  expect(first.headers['x-request-id']).toMatch(/^req_[0-9a-f]{32}$/);
  expect(second.headers['x-request-id']).not.toBe(first.headers['x-request-id']);
});

it('deprecated operations say so in their answers, and no others do', async () => {
  const legacy = gateway.description.operations.filter(({ declared }) => declared.deprecated === true);
  expect(legacy.map(({ id }) => id)).toEqual(['calculateContext', 'finishLogin']);
  const way = { path: '/v1/auth/oidc/nowhere/callback' };
  for (const prefix of ['/api', '/api-proxy'] as const) {
    const back = await gateway.send({ method: 'GET', ...way, prefix });
    expect([back.status, back.headers.deprecation]).toEqual([401, '@1795219200']);
  }
  const begun = await gateway.send({ method: 'GET', path: '/v1/auth/oidc/nowhere/start' });
  expect([begun.status, begun.headers.deprecation]).toEqual([404, undefined]);
});

it('a stream bears them too', async () => {
  const address = await gateway.app.listen({ port: 0, host: '127.0.0.1' });
  const url = `${address}/api/v1/spaces/${world.spaceId}/responses`;
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'X-API-Key': world.apiKey, 'Content-Type': 'application/json' },
    body: JSON.stringify({ input: { text: 'Why?' }, tools: [], stream: true }),
  });
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
  expect(Object.fromEntries(answer.headers)).toMatchObject(secure);
  await answer.body?.cancel();
});
