import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectServer, tool } from '../support/connected-server.ts';
import { openEngine, type Engine } from '../support/engine.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';

const countries = 'DE FR GB US IT ES NL BE AT CH PL SE NO DK FI PT IE CZ HU GR'.split(' ');
/** Long where numbers of so many countries are searched, and short elsewhere. */
const long = (what: string) => `${what} ${'some words '.repeat(90)}`;

let engine: Engine;
let gateway: TestGateway;
beforeAll(async () => {
  engine = await openEngine();
  gateway = await openGateway(engine.database);
  const write = tool('write', { description: long('Writes to desk@example.org.') });
  const settings = [{ name: 'ask', requireApproval: true }];
  await connectServer(engine, { slug: 'desk', tools: [write, tool('ask')], settings });
});
afterAll(async () => {
  await gateway?.close();
  await engine?.stop();
});

const send = (method: string, path: string, body: object) =>
  gateway.send({
    method,
    path: `/v1/spaces/${engine.world.spaceId}/${path}`,
    apiKey: engine.world.apiKey,
    body,
  });

it('a response whose instructions, definitions of tools and approved call are all long is accepted with tokens', async () => {
  const before = await engine.create();
  const calls = [{ name: 'mcp__desk__ask', arguments: JSON.stringify({ who: long('ada@example.org') }) }];
  await (await engine.attempt(before)).commit({ calls, reason: 'tool_calls' });
  const asked = (await engine.record(before)).output.find(({ type }) => type === 'mcp_approval_request');
  const pii = { mode: 'redact', phone_countries: countries };
  expect((await send('PUT', 'governance', { pii })).status).toBe(200);

  const answer = await send('POST', 'responses', {
    input: { items: [{ type: 'mcp_approval_response', approval_request_id: asked?.id, approve: true }] },
    previous_response_id: before,
    tools: ['mcp__desk__write'],
    platform: { instructions: long('Greet bob@example.org.') },
  });
  expect(answer.status, answer.text).toBe(202);
  const { rows } = await engine.admin.query<{ request: string }>(
    'select request::text as request from responses where id = $1',
    [answer.body.data.id],
  );
  const request = rows[0]?.request ?? '';
  expect(request.match(/\[EMAIL_\w{12}\]/g)).toHaveLength(3);
  expect(request).not.toContain('@example.org');
});
