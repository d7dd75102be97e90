import { once } from 'node:events';
import { connect as dial } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAdminWorld, type AdminWorld } from '../support/admin-world.ts';
import { IdentityProviderServer } from '../support/identity-provider.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { publicUrl, registerProvider } from '../support/sign-in.ts';

let place: AdminWorld;
let server: IdentityProviderServer;
let gateway: TestGateway;
let port: number;

beforeAll(async () => {
  place = await openAdminWorld();
  server = await new IdentityProviderServer().start();
  gateway = await openGateway(place.database, { PUBLIC_URL: publicUrl, EGRESS_ALLOW: server.issuer });
  port = Number(new URL(await gateway.app.listen({ host: '127.0.0.1', port: 0 })).port);
});
afterAll(async () => {
  await gateway?.close();
  await server?.stop();
  await place?.close();
});

/** Over the wire, because `app.inject` supports fewer methods. */
async function request(method: string, path: string, body = ''): Promise<string> {
  const socket = dial(port, '127.0.0.1');
  await once(socket, 'connect');
  const head = `${method} /api/v1${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-API-Key: ${place.owner.apiKey}`;
  socket.write(`${head}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  const answer = await text(socket);
  const allow = /^allow: (.*)$/im.exec(answer)?.[1]?.trim();
  return [answer.split(' ')[1], /"code":"(\w+)"/.exec(answer)?.[1], allow].filter(Boolean).join(' ');
}

describe('a method that a path does not take', () => {
  it.each(['QUERY', 'PROPFIND', 'TRACE', 'PUT'])(
    '(%s) is refused before its body is read',
    async (method) => {
      for (const body of ['', '{', '{"a":1}']) {
        expect(await request(method, '/spaces', body)).toBe('405 method_not_allowed GET, HEAD, POST');
        expect(await request(method, '/nowhere', body)).toBe('404 route_not_found');
      }
    },
  );

  it('is answered with the methods of its own path, not of a neighbouring one', async () => {
    const messages = place.inSpace('/threads/messages');
    for (const method of ['PUT', 'GET', 'PATCH', 'DELETE', 'QUERY']) {
      expect(await request(method, messages, '{}'), method).toBe('405 method_not_allowed POST');
    }
    const thread = place.inSpace('/threads/01a208d1-abd6-71b3-a616-3afd21bf72a4');
    expect(await request('PUT', thread)).toBe('405 method_not_allowed DELETE, GET, HEAD, PATCH');
    expect(await request('PUT', `${messages}/`, '{}')).toBe('405 method_not_allowed POST');
  });
});

it('an answer with a new key must not be cached', async () => {
  const answer = await place.ask(place.owner, 'POST', '/admin/api-keys', { name: 'new' });
  expect([answer.status, answer.headers['cache-control']]).toEqual([201, 'no-store']);
  const reading = await place.ask(place.owner, 'GET', '/admin/api-keys');
  expect(reading.headers['cache-control']).toBe('no-store');
});

it('the document says that limit is an integer from 1 to 100, and the wire takes nothing else', async () => {
  const { parameters } = gateway.description.operations.find(({ id }) => id === 'listSpaces')!.declared;
  const { schema } = parameters!.find(({ name }) => name === 'limit')! as unknown as { schema: object };
  expect(schema).toEqual({ type: 'integer', minimum: 1, maximum: 100 });
  for (const limit of ['5x', '0', '101', '1e1', ' 5', '']) {
    const { status } = await place.ask(place.owner, 'GET', `/spaces?limit=${encodeURIComponent(limit)}`);
    expect(status, limit).toBe(422);
  }
  expect((await place.ask(place.owner, 'GET', '/spaces?limit=100')).status).toBe(200);
});

describe('a provider whose discovery document points elsewhere', () => {
  it.each(
    ['authorization_endpoint', 'token_endpoint', 'jwks_uri'].flatMap((member) =>
      ['javascript:alert(1)', 'data:text/html,x', 'file:///etc/passwd', 'nothing', ''].map((address) => [
        member,
        address,
      ]),
    ),
  )('(%s: %s) is unavailable', async (member, address) => {
    const issuer = `${server.issuer}/${Buffer.from(member + address).toString('hex')}`;
    const path = `${new URL(issuer).pathname}/.well-known/openid-configuration`;
    server.instead.set(path, (response) => {
      const description = {
        issuer,
        authorization_endpoint: `${server.issuer}/authorize`,
        token_endpoint: `${server.issuer}/token`,
        jwks_uri: `${server.issuer}/jwks`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: [server.alg],
        [member]: address,
      };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(description));
    });
    const provider = await registerProvider(place.database, place.world, { issuer, alg: server.alg });
    const answer = await gateway.send({ method: 'GET', path: `/v1/auth/oidc/${provider.slug}/start` });
    expect([answer.status, answer.body.error?.code]).toEqual([502, 'identity_provider_unavailable']);
  });
});
