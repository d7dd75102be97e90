import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { dumpOf, foundIn, historiesOf, logsOf } from '../support/canaries.ts';
import { sendOver } from '../support/gateway.ts';
import { startToolServer, type ToolServer } from '../support/tool-servers.ts';
import { openToolWorld, type ToolWorld } from '../support/tool-world.ts';
import { startTraceReceiver, type TraceReceiver } from '../support/trace-receiver.ts';

/** Every secret that was planted, by what it is. */
const planted = new Map<string, string>();

function plant(what: string): string {
  const secret = `canary/${planted.size}+stored-7f3e-wombat`;
  planted.set(what, secret);
  return secret;
}

const answers: string[] = [];
const boxToken = plant('token of a tool server');
const clientSecret = plant('secret of a client');

/** What another process says back of what it was sent: a refusal with every header, or a cut connection. */
async function startEchoing() {
  const received: string[] = [];
  const server = createServer((request, response) => {
    received.push(JSON.stringify(request.headers));
    request.resume().on('end', () => {
      if (request.url?.startsWith('/token') === true) {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ access_token: boxToken, token_type: 'bearer', expires_in: 600 }));
      } else if (request.url?.startsWith('/cut') === true) {
        response.destroy();
      } else {
        const said = JSON.stringify(request.headers);
        response.writeHead(401, { 'content-type': 'application/json', 'www-authenticate': 'Bearer' });
        response.end(JSON.stringify({ error: { message: said, type: said, code: 'no', param: said } }));
      }
    });
  });
  await new Promise<void>((listening) => void server.listen(0, '127.0.0.1', listening));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { origin, received, stop: async () => server.close().closeAllConnections() };
}

const lookup = [[{ name: 'mcp__box__lookup', arguments: { item: 'lamp' } }]];
const byClient = [[{ name: 'mcp__client__lookup', arguments: { item: 'lamp' } }]];
const scripts = [
  { name: 'works', text: 'Done.', calls: lookup },
  { name: 'client', text: 'Done.', calls: byClient },
  { name: 'refused', text: 'Never said.' },
  { name: 'cut', text: 'Never said.' },
];

let tools: ToolWorld;
let box: ToolServer;
let echo: Awaited<ReturnType<typeof startEchoing>>;
let traces: TraceReceiver;

beforeAll(async () => {
  [box, echo, traces] = await Promise.all([
    startToolServer({ token: boxToken }),
    startEchoing(),
    startTraceReceiver(),
  ]);
  tools = await openToolWorld({
    scripts,
    origins: [box.origin, echo.origin, traces.origin],
    env: { LOG_LEVEL: 'trace' },
  });
});
afterAll(async () => {
  await tools?.stop();
  await Promise.all([box, echo, traces].map((each) => each?.stop()));
});

const sender = sendOver(() => tools.stack.gateways[0]!);

async function send(method: string, path: string, body?: object, headers: Record<string, string> = {}) {
  const at = path.startsWith('/') ? path : `/v1/spaces/${tools.world.spaceId}/${path}`;
  const answer = await sender.send({ method, path: at, apiKey: tools.world.apiKey, body, headers });
  answers.push(answer.text, JSON.stringify(answer.headers));
  return answer;
}

async function stored(path: string, origin: string, kind: string, value: object): Promise<string> {
  const name = `n ${answers.length}`;
  const made = await send(
    'POST',
    path,
    { name, kind, origin, value },
    { 'idempotency-key': `k${answers.length}` },
  );
  expect(made.status, made.text).toBe(201);
  return made.body.data.id as string;
}

const bearer = (token: string) => ['bearer', { token }] as const;

/** The model of a script, at an address with a credential of its own. */
async function modelAt(script: string, url: string, credential: string): Promise<void> {
  const { modelIds } = tools.world;
  const id = modelIds[1 + scripts.findIndex(({ name }) => name === script)];
  const changed = await send('PATCH', `/v1/admin/models/${id}`, { base_url: url, credential_id: credential });
  expect(changed.status, changed.text).toBe(200);
}

it('stored values are used where they are for', async () => {
  const tracing = { tracing_public_key: 'pk', tracing_secret_key: 'sk', tracing_base_url: traces.url };
  await send('PUT', 'observability/config', tracing);

  const first = await stored('credentials', box.origin, ...bearer(plant('token before its rotation')));
  const rotated = await send('PATCH', `credentials/${first}`, { value: { token: boxToken } });
  expect(rotated.status).toBe(200);
  const registered = await tools.register('box', box.url, { credential_id: first });
  expect(registered.status).toBe('connected');
  await tools.update(registered, { enabled_tools: ['*'] });

  const client = await stored('credentials', box.origin, 'oauth2_client', {
    client_id: 'us',
    client_secret: clientSecret,
    token_url: `${echo.origin}/token`,
  });
  const second = await tools.register('client', box.url, { credential_id: client });
  expect(second.status).toBe('connected');
  await tools.update(second, { enabled_tools: ['*'] });

  const header = await stored('credentials', echo.origin, 'header', {
    name: 'X-Key',
    value: plant('header of a tool server'),
  });
  expect(await tools.register('refuses', `${echo.origin}/mcp`, { credential_id: header })).toMatchObject({
    status: 'auth_required',
    last_error: 'unauthorized',
  });
  const basic = await stored('credentials', echo.origin, 'basic', {
    username: 'ada',
    password: plant('password of a tool server'),
  });
  expect(await tools.register('cuts', `${echo.origin}/cut`, { credential_id: basic })).toMatchObject({
    status: 'error',
  });

  const modelOrigin = new URL(tools.models.url).origin;
  const works = await stored('/v1/admin/credentials', modelOrigin, ...bearer(plant('key of a model')));
  await modelAt('works', tools.models.url, works);
  await modelAt('client', tools.models.url, works);
  const refused = await stored(
    '/v1/admin/credentials',
    echo.origin,
    ...bearer(plant('key of a model that refuses')),
  );
  await modelAt('refused', `${echo.origin}/v1`, refused);
  const cut = await stored('/v1/admin/credentials', echo.origin, 'header', {
    name: 'X-Model-Key',
    value: plant('header of a model that breaks off'),
  });
  await modelAt('cut', `${echo.origin}/cut`, cut);

  const outputs = [];
  for (const script of ['works', 'client']) {
    const record = await tools.ask(script, { tools: ['mcp__box__*', 'mcp__client__*'] });
    outputs.push(record.output.map(({ status }) => status));
  }
  expect(outputs).toEqual([
    ['completed', 'completed'],
    ['completed', 'completed'],
  ]);
  expect((await tools.ask('refused')).status).toBe('failed');
  // It is tried again and again: what has failed so far is in the logs and the history.
  await send('POST', 'responses', { input: { text: 'Go.' }, model: 'cut' });
  for (const deadline = Date.now() + 30_000; traces.arrivals.length < 3; await sleep(50)) {
    expect(Date.now()).toBeLessThan(deadline);
  }
  const sent = echo.received.join('\n');
  for (
    const deadline = Date.now() + 30_000;
    !echo.received.join('\n').includes('x-model-key');
    await sleep(50)
  ) {
    expect(Date.now()).toBeLessThan(deadline);
  }
  expect(foundIn(planted, sent + echo.received.join('\n')).sort()).toEqual([
    'header of a model that breaks off',
    'header of a tool server',
    'key of a model that refuses',
    'password of a tool server',
  ]);
});

it('stored values that are refused are not said back', async () => {
  const base = { name: 'x', kind: 'bearer', origin: box.origin };
  const refused: [string, string, (secret: string) => object][] = [
    ['with a space', 'credentials', (secret) => ({ ...base, value: { token: `${secret} x` } })],
    ['with an unknown neighbour', 'credentials', (secret) => ({ ...base, value: { token: secret, x: 1 } })],
    ['in the place of a name', 'credentials', (secret) => ({ ...base, kind: secret, value: {} })],
    ['as a member', 'credentials', (secret) => ({ ...base, value: { [secret.replaceAll('/', '')]: 'x' } })],
    ['by tRPC', '/trpc/credentials.create', (secret) => ({ ...base, value: { token: secret } })],
    [
      'in an origin',
      'credentials',
      (secret) => ({
        ...base,
        origin: `https://u:${encodeURIComponent(secret)}@a.example`,
        value: { token: 'x' },
      }),
    ],
  ];
  for (const [what, path, body] of refused) {
    const answer = await send('POST', path, body(plant(`value ${what}`)));
    expect([what, answer.status]).toEqual([what, 422]);
  }
});

it('stored values stand in no log, answer, event, history, trace or table', async () => {
  const where = {
    logs: await logsOf(tools),
    answers: answers.join('\n'),
    histories: await historiesOf(tools),
    dump: await dumpOf(tools),
    traces: traces.arrivals.map(({ body, path }) => path + body).join('\n'),
  };
  // What is looked through is what it is called.
  expect(where.logs).toContain('"msg":"request"');
  expect(where.histories).toContain(tools.world.tenantId);
  expect(where.dump).toContain('security.credential_rotated');
  expect(where.traces).toContain('mcp__box__lookup');
  const hits = Object.entries(where).map(([place, text]) => ({ place, inputs: foundIn(planted, text) }));
  expect(hits.filter(({ inputs }) => inputs.length > 0)).toEqual([]);
  const { rows } = await tools.admin.query<{ sealed: string; used: boolean }>(
    'select sealed_value as sealed, last_used_at is not null as used from credentials',
  );
  expect(rows).toHaveLength(7);
  expect(rows.every(({ sealed, used }) => used && sealed.startsWith('v1|'))).toBe(true);
});
