import type { RouteOptions } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { assemble } from '#api/compose.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { gatewayConfig, openGateway, type TestGateway } from '../support/gateway.ts';
import { IdentityProviderServer } from '../support/identity-provider.ts';
import { routesOf } from '../support/routes.ts';
import {
  bearer,
  callback,
  handleOf,
  publicUrl,
  redeem,
  refresh,
  registerProvider,
  signIn,
  startLogin,
} from '../support/sign-in.ts';
import { createWorld, type World } from '../support/world.ts';

const table = assemble(gatewayConfig('postgres://nobody@127.0.0.1:1/none'));
const routes = (await routesOf(table)).filter(({ config }) => config?.public === undefined);
await table.close();

let database: TestDatabase;
let gateway: TestGateway;
let server: IdentityProviderServer;
let world: World;
/** Each of them valid for its own purpose. */
let good: Record<'key' | 'access' | 'refresh' | 'handle' | 'idToken' | 'session', string>;
let cookie: string;

beforeAll(async () => {
  database = await createTestDatabase();
  server = await new IdentityProviderServer().start();
  gateway = await openGateway(database, {
    PUBLIC_URL: publicUrl,
    EGRESS_ALLOW: server.issuer,
    MAX_FAILED_ATTEMPTS: '100000',
  });
  world = await createWorld(database.unitOfWork);
  const provider = await registerProvider(database, world, server);
  const session = await signIn(gateway, server, provider.slug);
  const started = await startLogin(gateway, provider.slug);
  const back = await callback(gateway, server.authorize(started.address), started.cookie);
  const alone = await startLogin(gateway, provider.slug);
  cookie = started.cookie;
  good = {
    key: world.apiKey,
    access: session.access_token,
    refresh: session.refresh_token,
    handle: handleOf(back),
    idToken: await server.idToken({ clientId: provider.clientId, nonce: alone.nonce, sub: 'ada' }),
    session: session.session_id,
  };
});
afterAll(async () => {
  await gateway?.close();
  await server?.stop();
  await database?.drop();
});

const anId = '0199aaaa-0000-7000-8000-000000000000';
const send = ({ method, url }: RouteOptions, headers: Record<string, string>) =>
  gateway.send({ method: String(method), path: url.replaceAll(/:\w+/g, anId), headers });

it('only a key opens an operation as a key, and only a key or an access token as a bearer token', async () => {
  expect(routes.length).toBeGreaterThan(70);
  const wrong: Record<string, Record<string, string>> = {
    ...Object.fromEntries(
      (['refresh', 'handle', 'idToken', 'session'] as const).map((kind) => [
        `bearer ${kind}`,
        bearer(good[kind]),
      ]),
    ),
    ...Object.fromEntries(
      (['access', 'refresh', 'handle', 'idToken', 'session'] as const).map((kind) => [
        `key ${kind}`,
        { 'x-api-key': good[kind] },
      ]),
    ),
  };
  const letIn: string[] = [];
  for (const route of routes) {
    for (const [kind, headers] of Object.entries(wrong)) {
      const { status, body } = await send(route, headers);
      if (status !== 401 || body.error.code !== 'invalid_credentials') {
        letIn.push(`${String(route.method)} ${route.url} by ${kind}: ${status}`);
      }
    }
  }
  expect(letIn).toEqual([]);
});

it('each sign-in endpoint takes its own kind only, which is still valid after refused attempts', async () => {
  const kinds = Object.entries(good);
  for (const [kind, text] of kinds.filter(([name]) => name !== 'refresh')) {
    expect((await refresh(gateway, text)).status, `refresh by ${kind}`).toBe(401);
  }
  for (const [kind, text] of kinds.filter(([name]) => name !== 'handle')) {
    expect((await redeem(gateway, { handle: text }, { cookie })).status, `handle by ${kind}`).toSatisfy(
      (status) => [401, 422].includes(status),
    );
  }
  for (const headers of [bearer(good.access), bearer(good.key), { 'x-api-key': good.key }]) {
    expect((await gateway.send({ method: 'GET', path: '/v1/sessions', headers })).status).toBe(200);
  }
  expect((await refresh(gateway, good.refresh)).status).toBe(200);
  expect((await redeem(gateway, { handle: good.handle }, { cookie })).status).toBe(200);
});
