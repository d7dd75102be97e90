import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { sendOver, type Sender } from '../support/gateway.ts';
import { IdentityProviderServer } from '../support/identity-provider.ts';
import {
  bearer,
  publicUrl,
  redeem,
  refresh,
  registerProvider,
  signIn,
  startLogin,
  type RegisteredProvider,
} from '../support/sign-in.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { createWorld, type World } from '../support/world.ts';

let database: TestDatabase;
let server: IdentityProviderServer;
let stack: Stack;
let world: World;
let provider: RegisteredProvider;
let first: Sender;
let second: Sender;

beforeAll(async () => {
  database = await createTestDatabase();
  server = await new IdentityProviderServer().start();
  stack = await startStack({
    database,
    gateways: 2,
    workers: 0,
    env: {
      PUBLIC_URL: publicUrl,
      EGRESS_ALLOW: server.issuer,
      LOG_LEVEL: 'trace',
      MAX_FAILED_ATTEMPTS: '1000',
    },
  });
  world = await createWorld(database.unitOfWork);
  provider = await registerProvider(database, world, server);
  [first, second] = stack.gateways.map((gateway) => sendOver(() => gateway)) as [Sender, Sender];
});
afterAll(async () => {
  await stack?.stop();
  await server?.stop();
  await database?.drop();
});

const listOwn = (gateway: Sender, token: string) =>
  gateway.send({ method: 'GET', path: '/v1/sessions', headers: bearer(token) });

describe('two gateways', () => {
  it('open one session for one ID token, for any number of concurrent requests to both', async () => {
    const { nonce } = await startLogin(first, provider.slug);
    const idToken = await server.idToken({ nonce, sub: 'ada', clientId: provider.clientId });
    const body = { provider_id: provider.slug, id_token: idToken };
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) => redeem(i % 2 === 0 ? first : second, body)),
    );
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => status >= 500 && status !== 503)).toEqual([]);
  });

  it('begin a sign-in at one and end it at the other', async () => {
    const signedIn = await signIn(
      { send: (call) => (call.path.includes('/start') ? first : second).send(call) },
      server,
      provider.slug,
    );
    expect((await listOwn(first, signedIn.access_token)).status).toBe(200);
  });

  it('refuse a token at once where the other has ended its session, thirty times in thirty', async () => {
    const slowest: number[] = [];
    for (let i = 0; i < 30; i += 1) {
      const signedIn = await signIn(first, server, provider.slug, `user-${i % 5}`);
      expect((await listOwn(second, signedIn.access_token)).status).toBe(200);
      const ended = await first.send({
        method: 'DELETE',
        path: `/v1/sessions/${signedIn.session_id}`,
        apiKey: world.apiKey,
      });
      expect(ended.status).toBe(200);
      const since = performance.now();
      expect((await listOwn(second, signedIn.access_token)).status).toBe(401);
      expect((await refresh(second, signedIn.refresh_token)).status).toBe(401);
      slowest.push(performance.now() - since);
    }
    expect(slowest).toHaveLength(30);
  });

  it('write no usable credential into their logs', async () => {
    const signedIn = await signIn(first, server, provider.slug, 'grace');
    const started = await startLogin(second, provider.slug);
    await refresh(second, signedIn.refresh_token);
    await listOwn(first, signedIn.access_token);
    await sleep(300);
    const logs = stack.gateways.map(({ log }) => readFileSync(log, 'utf8')).join('\n');
    expect(logs).toContain('/v1/sessions');
    expect(logs).not.toMatch(/(at|rt|lh)\.[\w-]{43}/);
    for (const secret of [
      started.state,
      started.nonce,
      started.cookie.split('=')[1]!,
      'upstream-client-secret',
      'code-',
    ]) {
      expect(logs.includes(secret), secret).toBe(false);
    }
  });
});
