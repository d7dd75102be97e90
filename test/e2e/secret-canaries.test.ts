import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allowModels } from '#domain/workspace/spaces/allow-models.ts';
import { createSpace } from '#domain/workspace/spaces/create-space.ts';
import { dumpOf, foundIn, historiesOf, inBase64, logsOf } from '../support/canaries.ts';
import { sendOver, type Answer } from '../support/gateway.ts';
import { IdentityProviderServer } from '../support/identity-provider.ts';
import { publicUrl, refresh, registerProvider, signIn, startLogin } from '../support/sign-in.ts';
import { startToolServer, type ToolServer } from '../support/tool-servers.ts';
import { openToolWorld, type ToolWorld } from '../support/tool-world.ts';
import { startTraceReceiver, type TraceReceiver } from '../support/trace-receiver.ts';

/** Every planted secret, by the input that took it. */
const planted = new Map<string, string>();
const mark = 'canary-7f3e9b';

function plant(input: string): string {
  const secret = `${mark}-${planted.size}-wombat`;
  planted.set(input, secret);
  return secret;
}

/**
 * A refused input is answered with an error, an accepted one with a record. Neither may repeat the secret.
 */
const answers: string[] = [];

let tools: ToolWorld;
let box: ToolServer;
let here: TraceReceiver;
let beside: TraceReceiver;
let people: IdentityProviderServer;
let besideId: string;

const scripts = [
  { name: 'plain', text: 'The moon.' },
  { name: 'works', text: 'Done.', calls: [[{ name: 'mcp__box__lookup', arguments: { item: 'lamp' } }]] },
];

beforeAll(async () => {
  const toolKey = plant('variable of a tool server');
  people = await new IdentityProviderServer().start();
  [here, beside, box] = await Promise.all([
    startTraceReceiver(),
    startTraceReceiver(),
    startToolServer({ token: toolKey }),
  ]);
  tools = await openToolWorld({
    scripts,
    origins: [here.origin, beside.origin, box.origin, people.issuer],
    env: {
      LOG_LEVEL: 'trace',
      MAX_FAILED_ATTEMPTS: '1000',
      PUBLIC_URL: publicUrl,
      BOX_KEY: toolKey,
      TOOL_CREDENTIALS: `BOX_KEY@${box.origin}`,
      OPENAI_API_KEY: plant('variable of a vendor'),
    },
  });
  const { tenantId, owner, modelIds } = tools.world;
  besideId = await tools.database.unitOfWork.inTenant(tenantId, async (em) => {
    const space = await createSpace(em, owner, { name: 'Next door' });
    await allowModels(em, owner, { space, modelIds, defaultModelId: modelIds[1]! });
    return space.id;
  });
});
afterAll(async () => {
  await tools?.stop();
  await Promise.all([here, beside, box, people].map((each) => each?.stop()));
});

const sender = sendOver(() => tools.stack.gateways[0]!);

/** As the tenant's owner, in its space where the path begins without `/v1`. */
async function send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const at = path.startsWith('/') ? path : `/v1/spaces/${tools.world.spaceId}/${path}`;
  const apiKey = 'authorization' in headers || 'x-api-key' in headers ? undefined : tools.world.apiKey;
  const answer = await sender.send({ method, path: at, body, headers, ...(apiKey && { apiKey }) });
  answers.push(answer.text, JSON.stringify(answer.headers));
  return answer;
}

type Input = [name: string, status: number, send: (secret: string) => Promise<Answer>];

const tracing = (secret: string, more: object = {}) => ({
  tracing_public_key: 'pk',
  tracing_secret_key: secret,
  tracing_base_url: here.url,
  ...more,
});
let slugs = 0;
const provider = (more: object) => ({
  slug: `people-${(slugs += 1)}`,
  issuer: `https://people-${slugs}.example.com`,
  display_name: 'People',
  client_id: 'platform',
  ...more,
});
const model = (more: object) => ({
  alias: `model-${(slugs += 1)}`,
  provider_kind: 'openai_compatible',
  provider_model: 'm',
  base_url: 'https://models.example.com/v1',
  context_window: 1_000,
  max_output_tokens: 100,
  price: { input: '1', cached_input: '1', output: '1' },
  ...more,
});
const server = (more: object) => ({
  slug: `box-${(slugs += 1)}`,
  url: `${box.origin}/mcp`,
  display_name: 'Box',
  ...more,
});
const withUser = (secret: string) => `https://user:${secret}@service.example.com/`;
const withQuery = (secret: string) => `https://service.example.com/?key=${secret}`;
const withHash = (secret: string) => `https://service.example.com/#${secret}`;
const basic = (secret: string) => `Basic ${Buffer.from(`user:${secret}`).toString('base64')}`;
const ask = { input: 'Hello' };
const question = { input: { text: 'Hello' } };

/** Credentials of callers, at each place that reads one. */
const places = ['responses', 'openai/models', '/v1/events', '/trpc/whoami', '/v1/sessions'];
const callers: Input[] = places.flatMap((path): Input[] => [
  [
    `key of ${path}`,
    401,
    (secret) => send('GET', path, undefined, { 'x-api-key': `ak.${secret}.${secret}` }),
  ],
  [`token of ${path}`, 401, (secret) => send('GET', path, undefined, { authorization: `Bearer ${secret}` })],
  [`password of ${path}`, 401, (secret) => send('GET', path, undefined, { authorization: basic(secret) })],
]);

const inputs: Input[] = [
  ...callers,
  ['key in a query', 422, (secret) => send('GET', `responses?api_key=${secret}`)],
  ['key in a query of tRPC', 422, (secret) => send('GET', `/trpc/nothing?token=${secret}`)],
  ['key in a path that leads nowhere', 404, (secret) => send('GET', `/v1/${secret}`)],
  [
    'refresh token',
    401,
    (secret) => send('POST', '/v1/refresh', undefined, { authorization: `Bearer ${secret}` }),
  ],
  [
    'signed-out token',
    401,
    (secret) => send('POST', '/v1/auth/logout', undefined, { authorization: `Bearer ${secret}` }),
  ],
  [
    'body that is no JSON',
    422,
    (secret) => send('PUT', 'observability/config', `{"tracing_secret_key": ${secret}}`),
  ],
  [
    'body of tRPC that is no JSON',
    422,
    (secret) => send('POST', '/trpc/observability.set', `{"a": ${secret}}`),
  ],

  ['tracing secret', 200, (secret) => send('PUT', 'observability/config', tracing(secret))],
  ['next tracing secret', 200, (secret) => send('PUT', 'observability/config', tracing(secret))],
  [
    'tracing secret with a space',
    422,
    (secret) => send('PUT', 'observability/config', tracing(`${secret} x`)),
  ],
  [
    'tracing secret with a wrong neighbour',
    422,
    (secret) => send('PUT', 'observability/config', tracing(secret, { x: 1 })),
  ],
  [
    'tracing address with a user',
    422,
    (secret) => send('PUT', 'observability/config', tracing('s', { tracing_base_url: withUser(secret) })),
  ],
  [
    'tracing address with a query',
    422,
    (secret) => send('PUT', 'observability/config', tracing('s', { tracing_base_url: withQuery(secret) })),
  ],
  [
    'tracing secret of a stranger',
    404,
    (secret) => send('PUT', `/v1/spaces/${crypto.randomUUID()}/observability/config`, tracing(secret)),
  ],
  [
    'tracing secret by tRPC',
    200,
    (secret) =>
      send('POST', '/trpc/observability.set', { space_id: tools.world.spaceId, ...tracing(secret) }),
  ],
  [
    'tracing secret by tRPC with a wrong neighbour',
    422,
    (secret) => send('POST', '/trpc/observability.set', { ...tracing(secret) }),
  ],

  [
    'client secret',
    201,
    (secret) => send('POST', '/v1/admin/identity-providers', provider({ client_secret: secret })),
  ],
  [
    'client secret with a wrong neighbour',
    422,
    (secret) => send('POST', '/v1/admin/identity-providers', provider({ client_secret: secret, x: 1 })),
  ],
  [
    'client secret of a taken slug',
    409,
    async (secret) => {
      const body = provider({});
      await send('POST', '/v1/admin/identity-providers', body);
      return send('POST', '/v1/admin/identity-providers', { ...body, client_secret: secret });
    },
  ],
  [
    'next client secret',
    200,
    async (secret) => {
      const made = await send('POST', '/v1/admin/identity-providers', provider({ client_secret: 'first' }));
      return send('PATCH', `/v1/admin/identity-providers/${made.body.data.id}`, { client_secret: secret });
    },
  ],
  [
    'issuer with a user',
    422,
    (secret) => send('POST', '/v1/admin/identity-providers', provider({ issuer: withUser(secret) })),
  ],

  [
    'ID token',
    401,
    (secret) => send('POST', '/v1/auth/oidc/session', { provider_id: 'people', id_token: secret }),
  ],
  [
    'ID token with three parts',
    401,
    (secret) =>
      send('POST', '/v1/auth/oidc/session', { provider_id: 'people', id_token: `e30.${secret}.${secret}` }),
  ],
  [
    'access token of a provider',
    401,
    (secret) =>
      send('POST', '/v1/auth/oidc/session', { provider_id: 'people', id_token: 'x', access_token: secret }),
  ],
  ['handle', 401, (secret) => send('POST', '/v1/auth/oidc/session', { handle: secret })],
  [
    'handle with an access token',
    422,
    (secret) => send('POST', '/v1/auth/oidc/session', { handle: 'x', access_token: secret }),
  ],
  [
    'code and state',
    401,
    (secret) => send('GET', `/v1/auth/oidc/people/callback?code=${secret}&state=${secret}`),
  ],
  [
    'error of a provider',
    401,
    (secret) =>
      send('GET', `/v1/auth/oidc/people/callback?state=x&error=${secret}&error_description=${secret}`),
  ],
  [
    'cookie of a login',
    401,
    (secret) =>
      send('GET', '/v1/auth/oidc/people/callback?code=c&state=s', undefined, { cookie: `login=${secret}` }),
  ],

  [
    'model address with a user',
    422,
    (secret) => send('POST', '/v1/admin/models', model({ base_url: withUser(secret) })),
  ],
  [
    'model address with a query',
    422,
    (secret) => send('POST', '/v1/admin/models', model({ base_url: withQuery(secret) })),
  ],
  [
    'key in the place of a variable of a model',
    422,
    (secret) => send('POST', '/v1/admin/models', model({ credential_ref: secret })),
  ],
  ['key beside a model', 422, (secret) => send('POST', '/v1/admin/models', model({ api_key: secret }))],
  ['model key by tRPC', 422, (secret) => send('POST', '/trpc/models.add', model({ api_key: secret }))],

  [
    'tool server address with a user',
    422,
    (secret) => send('POST', 'mcp-servers', server({ url: withUser(secret) })),
  ],
  [
    'tool server address with a fragment',
    422,
    (secret) => send('POST', 'mcp-servers', server({ url: withHash(secret) })),
  ],
  [
    'key in the place of a variable of a tool server',
    422,
    (secret) => send('POST', 'mcp-servers', server({ auth: { credential_ref: secret } })),
  ],
  [
    'key beside a tool server',
    422,
    (secret) => send('POST', 'mcp-servers', server({ auth: { token: secret } })),
  ],
  [
    'tool server key by tRPC',
    422,
    (secret) => send('POST', '/trpc/toolServers.register', server({ auth: { token: secret } })),
  ],

  [
    'recogniser address with a user',
    422,
    (secret) => send('PUT', 'governance', { pii: { presidio_url: withUser(secret) } }),
  ],
  [
    'recogniser address with a query',
    422,
    (secret) => send('PUT', 'governance', { pii: { presidio_url: withQuery(secret) } }),
  ],
  [
    'recogniser address with a fragment',
    422,
    (secret) => send('PUT', 'governance', { pii: { presidio_url: withHash(secret) } }),
  ],
  ['recogniser key', 422, (secret) => send('PUT', 'governance', { pii: { presidio_key: secret } })],

  [
    'tool of a request with a token',
    422,
    (secret) => send('POST', 'responses', { ...question, tools: [{ type: 'mcp', authorization: secret }] }),
  ],
  [
    'tool of an OpenAI request with a token',
    400,
    (secret) =>
      send('POST', 'openai/responses', {
        ...ask,
        tools: [{ type: 'mcp', server_label: 'x', server_url: withUser(secret), authorization: secret }],
      }),
  ],
  [
    'tool of an OpenAI request with headers',
    400,
    (secret) =>
      send('POST', 'openai/responses', {
        ...ask,
        tools: [{ type: 'mcp', server_label: 'x', headers: { Authorization: `Bearer ${secret}` } }],
      }),
  ],
  ['key in a body', 422, (secret) => send('POST', 'responses', { ...question, api_key: secret })],
  ['key in a body of OpenAI', 400, (secret) => send('POST', 'openai/responses', { ...ask, api_key: secret })],
];

const found = (text: string): string[] => foundIn(planted, text);

describe('60 secrets and more, one in every input that takes one', () => {
  it.each(inputs)('%s', async (name, status, plantIn) => {
    const answer = await plantIn(plant(name));
    expect(`${answer.status} ${answer.text}`).toMatch(new RegExp(`^${status} `));
  });

  it('work for their purpose', async () => {
    const auth = { credential_ref: 'BOX_KEY' };
    const made = await tools.register('box', box.url, { auth });
    await tools.update(made, { enabled_tools: ['*'] });
    const upstream = plant('client secret of a sign-in');
    const settings = { clientSecret: upstream };
    const { slug } = await registerProvider(tools.database, tools.world, people, settings);
    const session = await signIn(sender, people, slug);
    const renewed = (await refresh(sender, session.refresh_token)).body as typeof session;
    for (const [i, token] of [session, renewed].entries()) {
      planted.set(`access token ${i}`, token.access_token);
      planted.set(`refresh token ${i}`, token.refresh_token);
    }
    const started = await startLogin(sender, slug);
    planted.set('cookie of a login that was begun', started.cookie.split('=')[1]!);
    const minted = await sender.send({
      method: 'POST',
      path: '/v1/admin/api-keys',
      apiKey: tools.world.apiKey,
      body: { principal_id: tools.world.owner.principalId, name: 'k' },
    });
    planted.set('minted key', (minted.body.data.api_key as string).split('.')[2]!);
    const nextSecret = plant('tracing secret of the space beside');
    const path = `/v1/spaces/${besideId}/observability/config`;
    const set = await send('PUT', path, tracing(nextSecret, { tracing_base_url: beside.url }));
    expect(set.status).toBe(200);
    const record = await tools.ask('works', { tools: ['mcp__box__*'] });
    expect(record.output.map(({ status }) => status)).toEqual(['completed', 'completed']);
    await send('POST', `/v1/spaces/${besideId}/responses`, { ...question, model: 'plain' });
    for (const deadline = Date.now() + 30_000; here.arrivals.length * beside.arrivals.length === 0;) {
      expect(Date.now()).toBeLessThan(deadline);
      await sleep(50);
    }
    expect(here.arrivals[0]!.credentials).toBe(`pk:${planted.get('tracing secret by tRPC')}`);
    expect(beside.arrivals[0]!.credentials).toBe(`pk:${nextSecret}`);
    expect(JSON.stringify(record.output)).toContain('lamp is in the box');
  });

  it('appear in no log, answer, event, history, dump of the database, or trace of another space', async () => {
    expect(planted.size).toBeGreaterThanOrEqual(60);
    const foreign = (receiver: TraceReceiver) =>
      receiver.arrivals.map(({ body, path }) => path + body).join('\n') +
      (receiver === here ? beside : here).arrivals.map(({ body }) => body).join('\n');
    const where = {
      logs: await logsOf(tools),
      answers: answers.join('\n'),
      histories: await historiesOf(tools),
      dump: await dumpOf(tools),
      traces: foreign(here) + foreign(beside),
    };
    // Each source contains what its name says.
    expect(where.logs).toContain('"msg":"request"');
    expect(where.dump).toContain('https://people-1.example.com');
    expect(where.histories).toContain(tools.world.tenantId);
    expect(where.histories.split('\n').length).toBeGreaterThan(100);
    const hits = Object.entries(where).map(([place, text]) => ({ place, inputs: found(text) }));
    const counts = hits.map(({ place, inputs: from }) => `${place} ${from.length}`);
    console.log(`${planted.size} secrets: ${counts.join(', ')}`);
    expect(hits.filter(({ inputs: from }) => from.length > 0)).toEqual([]);
    expect(found(`x${inBase64(planted.get('handle')!, 1)}`)).toEqual(['handle']);
  });
});
