import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { FailedAttempts } from '#api/plugins/failed-attempts.ts';
import { mintApiKey } from '#domain/identity/api-keys/api-key.ts';
import type { Client } from 'pg';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { connect } from '../support/tables.ts';
import { addMember, createWorld, secrets, type World } from '../support/world.ts';

let database: TestDatabase;
let world: World;
let admin: Client;

beforeAll(async () => {
  database = await createTestDatabase();
  world = await createWorld(database.unitOfWork);
  admin = await connect(database.adminUrl);
});
afterAll(async () => {
  await admin?.end();
  await database?.drop();
});

async function open(env: Record<string, string> = {}): Promise<TestGateway> {
  const gateway = await openGateway(database, env);
  onTestFinished(() => gateway.close());
  return gateway;
}

const responses = () => `/v1/spaces/${world.spaceId}/responses`;
const list = (gateway: TestGateway, apiKey: string, address = '192.0.2.1') =>
  gateway.app.inject({
    method: 'GET',
    url: `/api${responses()}`,
    headers: { 'x-api-key': apiKey },
    remoteAddress: address,
  });

/** A key of the same id with another secret, and its right checksum. */
function forge(apiKey: string): string {
  return mintApiKey(secrets, apiKey.split('.')[1]).token;
}

describe('failed attempts', () => {
  it('are refused beyond the limit, from that address with that key id only, whatever is sent next', async () => {
    const gateway = await open({ MAX_FAILED_ATTEMPTS: '3' });
    const { apiKey } = await addMember(database.unitOfWork, world);
    const { apiKey: other } = await addMember(database.unitOfWork, world);
    const wrong = forge(apiKey);
    for (let i = 0; i < 3; i += 1) {
      expect((await list(gateway, wrong)).statusCode).toBe(401);
    }
    const refused = await list(gateway, wrong);
    expect(refused.statusCode).toBe(429);
    expect(refused.json().error).toMatchObject({
      type: 'rate_limit_error',
      code: 'too_many_failed_attempts',
    });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(60);
    // A correct guess is answered like a wrong one.
    expect((await list(gateway, apiKey)).statusCode).toBe(429);
    expect((await list(gateway, apiKey, '192.0.2.2')).statusCode).toBe(200);
    expect((await list(gateway, other)).statusCode).toBe(200);
  });

  it('on one prefix count on the other', async () => {
    const gateway = await open({ MAX_FAILED_ATTEMPTS: '1' });
    const { apiKey } = await addMember(database.unitOfWork, world);
    expect((await list(gateway, forge(apiKey))).statusCode).toBe(401);
    const proxied = await gateway.app.inject({
      method: 'GET',
      url: `/api-proxy${responses()}`,
      headers: { 'x-api-key': apiKey },
      remoteAddress: '192.0.2.1',
    });
    expect(proxied.statusCode).toBe(429);
  });

  it('are counted by the address from a trusted proxy, and by no other', async () => {
    const { apiKey } = await addMember(database.unitOfWork, world);
    const from = (gateway: TestGateway, client: string) =>
      gateway.app.inject({
        method: 'GET',
        url: `/api${responses()}`,
        headers: { 'x-api-key': forge(apiKey), 'x-forwarded-for': client },
        remoteAddress: '10.0.0.9',
      });
    const trusting = await open({ MAX_FAILED_ATTEMPTS: '1', TRUSTED_PROXIES: 'uniquelocal' });
    expect((await from(trusting, '192.0.2.1')).statusCode).toBe(401);
    expect((await from(trusting, '192.0.2.2')).statusCode).toBe(401);
    expect((await from(trusting, '192.0.2.1')).statusCode).toBe(429);
    const wary = await open({ MAX_FAILED_ATTEMPTS: '1' });
    expect((await from(wary, '192.0.2.1')).statusCode).toBe(401);
    expect((await from(wary, '192.0.2.2')).statusCode).toBe(429);
  });
});

describe('a limit by address', () => {
  const network = (last: string) => `2001:db8:1:2::${last}`;

  it('counts failed attempts of an IPv6 network together, and of another one apart', async () => {
    const gateway = await open({ MAX_FAILED_ATTEMPTS: '2' });
    const { apiKey } = await addMember(database.unitOfWork, world);
    const wrong = forge(apiKey);
    expect((await list(gateway, wrong, network('1'))).statusCode).toBe(401);
    expect((await list(gateway, wrong, network('2'))).statusCode).toBe(401);
    expect((await list(gateway, wrong, network('3'))).statusCode).toBe(429);
    expect((await list(gateway, apiKey, '2001:db8:1:3::1')).statusCode).toBe(200);
    expect((await list(gateway, apiKey, '192.0.2.1')).statusCode).toBe(200);
  });

  it.each([
    ['sign-ins', 'MAX_LOGIN_STARTS', 'GET', '/v1/auth/oidc/nowhere/start', 404],
    ['refreshes', 'MAX_REFRESHES', 'POST', '/v1/refresh', 401],
    ['popups', 'MAX_POPUP_REQUESTS', 'GET', `/v1/mcp-auth/start?nonce=${'x'.repeat(43)}`, 404],
    ['ends of popups', 'MAX_POPUP_REQUESTS', 'GET', '/v1/mcp-auth/callback?state=x', 404],
  ] as const)(
    'counts %s of an IPv6 network behind a trusted proxy together',
    async (_what, name, method, path, answer) => {
      const gateway = await open({ [name]: '2', TRUSTED_PROXIES: 'uniquelocal' });
      const from = async (client: string) =>
        (
          await gateway.app.inject({
            method,
            url: `/api${path}`,
            headers: { 'x-forwarded-for': client, authorization: 'Bearer rt.x' },
            remoteAddress: '10.0.0.9',
          })
        ).statusCode;
      const codes = [await from(network('1')), await from(network('ffff:1')), await from(network('2'))];
      expect(codes).toEqual([answer, answer, 429]);
      expect(await from('2001:db8:1:3::1')).toBe(answer);
      // One client, in whichever form its IPv4 address comes.
      const forms = ['192.0.2.1', '::ffff:192.0.2.1', '192.0.2.1'];
      expect([await from(forms[0]!), await from(forms[1]!), await from(forms[2]!)]).toEqual([
        answer,
        answer,
        429,
      ]);
    },
  );
});

describe('the last use of a key', () => {
  it('is written once a minute, by any gateway', async () => {
    const { apiKey, keyId } = await addMember(database.unitOfWork, world);
    const lastUsed = async (): Promise<Date | null> =>
      (await admin.query('select last_used_at from api_keys where key_id = $1', [keyId])).rows[0]
        .last_used_at;
    expect(await lastUsed()).toBeNull();
    await list(await open(), apiKey);
    await expect.poll(lastUsed).not.toBeNull();
    const first = await lastUsed();
    const second = await open();
    await list(second, apiKey);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(await lastUsed()).toEqual(first);
    await admin.query(`update api_keys set last_used_at = now() - interval '61 seconds' where key_id = $1`, [
      keyId,
    ]);
    await list(await open(), apiKey);
    await expect.poll(async () => Number(await lastUsed())).toBeGreaterThan(Number(first) - 1);
  });
});

describe('request bodies', () => {
  const padded = (bytes: number, fields: object) => {
    const bare = JSON.stringify({ ...fields, description: '' });
    return JSON.stringify({ ...fields, description: 'x'.repeat(bytes - bare.length) });
  };

  it('of more than 1 MiB are refused where no content is expected', async () => {
    const gateway = await open();
    const path = `/v1/spaces/${world.spaceId}/collections`;
    const send = (bytes: number) =>
      gateway.send({ method: 'POST', path, apiKey: world.apiKey, body: padded(bytes, { name: 'c' }) });
    expect((await send(1_048_577)).body.error).toMatchObject({ code: 'payload_too_large' });
    // So many characters exceed the maximum of a description, which is noticed only when the body was read.
    expect((await send(1_048_576)).body.error).toMatchObject({
      code: 'invalid_request',
      param: 'description',
    });
  });

  it('of up to 4 MiB create a response', async () => {
    const gateway = await open();
    const send = (bytes: number) => {
      const messages = Array.from({ length: 4 }, () => ({ role: 'user', content: 'a'.repeat(1_000_000) }));
      const bare = JSON.stringify({ input: { messages }, model: 'nobody' });
      const body = bare + ' '.repeat(bytes - bare.length);
      return gateway.send({ method: 'POST', path: responses(), apiKey: world.apiKey, body });
    };
    expect((await send(4_194_304)).body.error).toMatchObject({ code: 'model_not_found' });
    expect((await send(4_194_305)).body.error).toMatchObject({ code: 'payload_too_large' });
  });
});

describe('the input of a response', () => {
  it.each([
    ['messages', '', 'input.messages', (messages: object[]) => ({ messages })],
    ['items', '', 'input.items', (items: object[]) => ({ items })],
    ['items of OpenAI’s form', '/openai', 'input', (items: object[]) => items],
  ])('has at most 512 %s', async (_what, surface, param, toInput) => {
    const gateway = await open();
    const send = (length: number) => {
      const said = Array.from({ length }, () => ({ type: 'message', role: 'user', content: 'a' }));
      const path = `/v1/spaces/${world.spaceId}${surface}/responses`;
      const body = { input: toInput(said), model: 'nobody' };
      return gateway.send({ method: 'POST', path, apiKey: world.apiKey, body });
    };
    // The model is looked up only after the body has passed.
    expect((await send(512)).body.error).toMatchObject({ code: 'model_not_found' });
    const refused = await send(513);
    expect(refused.status).toBe(surface === '' ? 422 : 400);
    expect(refused.body.error).toMatchObject({ code: 'invalid_request', param });
  });
});

describe('open streams', () => {
  it.each([
    ['a principal', { MAX_STREAMS_PER_PRINCIPAL: '2' }],
    ['a tenant', { MAX_STREAMS_PER_TENANT: '2' }],
    ['a process', { MAX_STREAMS: '2' }],
  ])('of %s are limited; a slot is released when its stream ends', async (whose, env) => {
    const gateway = await open(env);
    const { apiKey } = await addMember(database.unitOfWork, world);
    const { apiKey: colleague } = await addMember(database.unitOfWork, world);
    const base = await gateway.app.listen({ host: '127.0.0.1', port: 0 });
    onTestFinished(() => gateway.app.server.closeAllConnections());
    const ask = async (key: string) => {
      const stop = new AbortController();
      const answer = await fetch(`${base}/api${responses()}`, {
        method: 'POST',
        headers: { 'x-api-key': key, 'content-type': 'application/json' },
        body: JSON.stringify({ input: { text: 'A?' }, stream: true }),
        signal: stop.signal,
      });
      const refusal = answer.status === 200 ? null : ((await answer.json()) as { error: object }).error;
      return { status: answer.status, refusal, leave: () => stop.abort() };
    };
    const count = async () => Number((await admin.query('select count(*) from responses')).rows[0].count);
    const [first, second] = [await ask(apiKey), await ask(apiKey)];
    expect([first.status, second.status]).toEqual([200, 200]);
    const before = await count();
    const third = await ask(apiKey);
    expect(third.status).toBe(429);
    expect(third.refusal).toMatchObject({ code: 'rate_limited' });
    expect(await count()).toBe(before);
    expect((await ask(colleague)).status).toBe(whose === 'a principal' ? 200 : 429);
    first.leave();
    await expect.poll(async () => (await ask(apiKey)).status).toBe(200);
  });

  it('of one response are limited over all readers; a slot is released when its reader leaves', async () => {
    const gateway = await open({ MAX_STREAMS_PER_RESPONSE: '2' });
    const { apiKey: colleague } = await addMember(database.unitOfWork, world, { spaceRole: 'space_editor' });
    const base = await gateway.app.listen({ host: '127.0.0.1', port: 0 });
    onTestFinished(() => gateway.app.server.closeAllConnections());
    const create = async () => {
      const body = { input: { text: 'A?' } };
      const made = await gateway.send({ method: 'POST', path: responses(), apiKey: world.apiKey, body });
      return made.body.data.id as string;
    };
    const [id, other] = [await create(), await create()];
    const read = async (of: string, key = world.apiKey) => {
      const stop = new AbortController();
      const answer = await fetch(`${base}/api${responses()}/${of}?stream=true`, {
        headers: { 'x-api-key': key },
        signal: stop.signal,
      });
      const refusal = answer.status === 200 ? null : ((await answer.json()) as { error: object }).error;
      const retryAfter = answer.headers.get('retry-after');
      return { status: answer.status, refusal, retryAfter, leave: () => stop.abort() };
    };
    const [first, second] = [await read(id), await read(id, colleague)];
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(await read(id)).toMatchObject({
      status: 429,
      refusal: { type: 'rate_limit_error', code: 'rate_limited' },
      retryAfter: '5',
    });
    expect((await read(id, colleague)).status).toBe(429);
    expect((await read(other)).status).toBe(200);
    first.leave();
    await expect.poll(async () => (await read(id)).status).toBe(200);
  });
});

describe('the memory of failed attempts', () => {
  it('is bounded: a flood of made-up key ids makes it forget the oldest', async () => {
    const failed = new FailedAttempts(1);
    const attempt = (keyId: string) => ({ address: '192.0.2.7', keyId });
    await failed.count(attempt('first'));
    await expect(failed.assertUnderLimit(attempt('first'))).rejects.toMatchObject({
      code: 'too_many_failed_attempts',
    });
    for (let i = 0; i < 50_000; i += 1) {
      await failed.count(attempt(String(i)));
    }
    await expect(failed.assertUnderLimit(attempt('first'))).resolves.toBeUndefined();
    await expect(failed.assertUnderLimit(attempt('49999'))).rejects.toThrow();
  }, 30_000);
});
