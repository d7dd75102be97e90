import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openGateway, type Answer, type TestGateway } from '../support/gateway.ts';
import { IdentityProviderServer } from '../support/identity-provider.ts';
import { callback, publicUrl, registerProvider, startLogin } from '../support/sign-in.ts';
import { createWorld } from '../support/world.ts';

const discovery = '/.well-known/openid-configuration';
const silences: Record<string, (response: ServerResponse) => void> = {
  'says nothing': () => undefined,
  'begins an answer and falls silent': (response) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).write('{"keys":'),
};

/** Each sign-in has a provider of its own, not used before. */
const cases = [discovery, '/token', '/jwks'].flatMap((path) =>
  Object.entries(silences).map(([how, silence]) => ({
    what: `${path} ${how}`,
    path,
    silence,
    server: new IdentityProviderServer(),
  })),
);

let database: TestDatabase;
let gateway: TestGateway;

beforeAll(async () => {
  database = await createTestDatabase();
  await Promise.all(cases.map(({ server }) => server.start()));
  const origins = cases.map(({ server }) => server.issuer).join(',');
  gateway = await openGateway(database, { PUBLIC_URL: publicUrl, EGRESS_ALLOW: origins });
});
afterAll(async () => {
  await gateway?.close();
  await Promise.all(cases.map(({ server }) => server.stop()));
  await database?.drop();
});

/** @returns the answer to the request that meets the silence */
async function meet({ path, silence, server }: (typeof cases)[number]): Promise<Answer> {
  const { id } = await registerProvider(database, await createWorld(database.unitOfWork), server);
  server.instead.set(path, silence);
  if (path === discovery) {
    return gateway.send({ method: 'GET', path: `/v1/auth/oidc/${id}/start` });
  }
  const started = await startLogin(gateway, id);
  return callback(gateway, server.authorize(started.address), started.cookie);
}

it('a sign-in times out on a provider that falls silent, in any request and at any point of the answer', async () => {
  const answers = await Promise.all(
    cases.map(async (each) => {
      const { status, body } = await meet(each);
      return [each.what, status, body.error.code];
    }),
  );
  expect(answers).toEqual(cases.map(({ what }) => [what, 502, 'identity_provider_unavailable']));
});
