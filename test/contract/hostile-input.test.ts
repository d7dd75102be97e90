import { once } from 'node:events';
import { connect as dial } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bodyPlaces, requiredFields } from '../support/body-places.ts';
import { bodyFields } from '../support/id-positions.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openGateway, type Call, type TestGateway } from '../support/gateway.ts';
import type { Operation } from '../support/openapi.ts';
import { hostileKinds, statusAt, type Target } from '../support/hostile-kinds.ts';
import { goodCall, idFixtures } from '../support/id-fixtures.ts';
import { createPlaces, Maker, type Place } from '../support/places.ts';
import { ofPopups } from '../support/connection-fixtures.ts';
import { ofTokens } from '../support/deletion-fixtures.ts';
import { beforeSignIn } from '../support/sign-in-fixtures.ts';
import { connect, countRowsBesideRefusals } from '../support/tables.ts';

let database: TestDatabase;
let gateway: TestGateway;
let admin: Client;
let here: Place;
let abroad: Place;
let address: string;
const targets: Target[] = [];
const maker = new Maker(() => gateway);
const fixtures = idFixtures(maker);

beforeAll(async () => {
  database = await createTestDatabase();
  gateway = await openGateway(database);
  admin = await connect(database.adminUrl);
  ({ here, abroad } = await createPlaces(database));
  const foreignCursors: Record<string, string> = {};
  for (const [position, fixture] of Object.entries(fixtures)) {
    const [id] = position.split(' ', 1);
    if (position === `${id} query cursor` && fixture.operator !== true) {
      foreignCursors[id!] = await fixture.make(abroad);
    }
  }
  // A list of operators has no cursor of another tenant: the cursor of another list replaces it.
  foreignCursors['listTenants'] = foreignCursors['listPrincipals']!;
  for (const operation of gateway.description.operations) {
    const call = await goodCall({ fixtures, maker }, operation.id, here);
    const { document } = gateway.description;
    const fields = bodyFields(document, operation);
    const required = requiredFields(document, operation);
    const places = bodyPlaces(document, operation);
    const methods = methodsAt(operation.path).split(', ');
    targets.push({ operation, methods, fields, required, places, call, here, abroad, foreignCursors });
  }
  address = await gateway.app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(async () => {
  await gateway?.close();
  await admin?.end();
  await database?.drop();
});

/**
 * The operations of a path by our own description; for a path with a parameter, also those with a fixed name
 * in its place.
 */
function operationsAt(path: string): Operation[] {
  return gateway.description.operations.filter(
    (each) =>
      each.path === path ||
      (path.includes('{') &&
        new RegExp(`^${each.path.replaceAll(/\{\w+\}/g, '(?:\\{\\w+\\}|[^/{}]+)')}$`).test(path)),
  );
}

/** Its methods; a HEAD comes with every GET. */
function methodsAt(path: string): string {
  // A fixed word in a path is no id: only the operations at that word count.
  const exact = operationsAt(path).filter((each) => each.path === path);
  const methods = [...new Set((exact.length > 0 ? exact : operationsAt(path)).map(({ method }) => method))];
  return [...methods, ...(methods.includes('GET') ? ['HEAD'] : [])].sort().join(', ');
}

/** Rows of the event log by type. */
async function countEvents(): Promise<Record<string, number>> {
  const { rows } = await admin.query<{ type: string; n: number }>(
    'select event_type as type, count(*)::int as n from events group by 1',
  );
  return Object.fromEntries(rows.map(({ type, n }) => [type, n]));
}

/** Whether the call differs from a good one in its body or the body's type alone, which are a file of any kind. */
function isAnotherFile({ operation, call: good }: Target, call: Call): boolean {
  const rest = ({ headers, ...others }: Call) =>
    JSON.stringify([
      { ...others, body: null },
      { ...headers, 'content-type': null },
    ]);
  return operation.id === 'uploadDocumentContent' && rest(call) === rest(good);
}

const prefixes = ['/api', '/api-proxy'] as const;
const kinds = Object.entries(hostileKinds).map(([name, kind], n) => [name, kind, n] as const);

describe.each(kinds)('%s', (name, kind, n) => {
  it('is refused by every operation exactly as it is documented, and leaves nothing behind', async () => {
    const cells = targets
      .flatMap((target) => kind(target).map((hostile) => ({ target, hostile })))
      .filter(({ target, hostile }) => !isAnotherFile(target, hostile.call));
    expect(cells.length, `${name} meets no operation`).toBeGreaterThan(0);
    const before = await countRowsBesideRefusals(admin);
    const eventsBefore = await countEvents();
    const found: string[] = [];
    const expected: string[] = [];
    for (const [i, { target, hostile }] of cells.entries()) {
      const { code, param, allow } = hostile;
      const status = statusAt(target, hostile);
      // In turn: both prefixes lead to the same handlers, and each operation meets many kinds.
      const prefix = prefixes[(n + i) % 2]!;
      const answer = await gateway.send({ ...hostile.call, prefix });
      const label = `${prefix} ${target.operation.id}`;
      const error = answer.body?.error ?? {};
      found.push(
        `${label} ${answer.status} ${error.code} ${error.param} ${error.request_id === answer.headers['x-request-id']}`,
      );
      expected.push(`${label} ${status} ${code} ${param} true`);
      if (allow !== undefined) {
        expect(answer.headers.allow, label).toBe(methodsAt(allow));
      }
    }
    expect(found).toEqual(expected);
    const after = await countRowsBesideRefusals(admin);
    const refused = cells.some(({ hostile }) => hostile.status === 403);
    // A refusal writes an event: the only trace that hostile input may leave. It comes with the key that
    // seals its personal fields.
    const { events, event_dedupe: dedupe, data_keys: _keys, ...rest } = after;
    expect(rest).toEqual(Object.fromEntries(Object.entries(before).filter(([table]) => table in rest)));
    const { 'security.permission_denied': _denied, ...otherEvents } = await countEvents();
    const { 'security.permission_denied': _deniedBefore, ...otherEventsBefore } = eventsBefore;
    expect(otherEvents).toEqual(otherEventsBefore);
    expect([events! > before.events!, dedupe! > before.event_dedupe!]).toEqual([refused, refused]);
  }, 300_000);
});

describe('a name that every object has', () => {
  it.each(['constructor'])('(%s) is taken for a text like any other', async (name) => {
    const failed: string[] = [];
    for (const { operation, places, call } of targets) {
      for (const place of places.filter(({ holds }) => holds !== 'number')) {
        const body = JSON.stringify(place.put(call.body, name));
        const { status } = await gateway.send({ ...call, body });
        if (status >= 500) {
          failed.push(`${status} ${operation.id} ${place.param}`);
        }
      }
    }
    expect(failed).toEqual([]);
  });
});

describe('the list', () => {
  it('has at least twenty kinds, and meets every operation at least ten times', () => {
    expect(Object.keys(hostileKinds).length).toBeGreaterThanOrEqual(20);
    for (const target of targets) {
      const met = Object.values(hostileKinds).flatMap((kind) => kind(target));
      // A sign-in takes no credential, and its first two steps no body; test/api/hostile-sign-in.test.ts
      // covers the rest.
      const min = [...beforeSignIn, ...ofPopups, ...ofTokens].some((id) => id === target.operation.id)
        ? 1
        : 10;
      expect(met.length, target.operation.id).toBeGreaterThanOrEqual(min);
    }
  });
});

/** Sends bytes as they are and reads to the end of the connection. */
async function exchange(bytes: string): Promise<string> {
  const { hostname, port } = new URL(address);
  const socket = dial(Number(port), hostname);
  await once(socket, 'connect');
  socket.write(bytes);
  return text(socket);
}

describe('bytes that are no request', () => {
  const head = 'POST /api/v1/spaces/x/responses HTTP/1.1\r\nHost: a\r\n';

  it.each([
    ['headers of 20 KiB', `${head}X-Long: ${'x'.repeat(20_000)}\r\n\r\n`, 431, 'headers_too_large'],
    ['no request line', 'HELLO\r\n\r\n', 400, 'malformed_http'],
    ['a length that is none', `${head}Content-Length: x\r\n\r\n`, 400, 'malformed_http'],
    ['two lengths', `${head}Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}`, 400, 'malformed_http'],
    [
      'a length beside chunks',
      `${head}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
      'malformed_http',
    ],
    ['a chunk size that is none', `${head}Transfer-Encoding: chunked\r\n\r\nzz\r\n`, 400, 'malformed_http'],
    ['a header with a bare line feed', `${head}X-A: b\n c\r\n\r\n`, 400, 'malformed_http'],
    ['a space before the colon', `${head}X-A : b\r\n\r\n`, 400, 'malformed_http'],
    ['two hosts', `${head}Host: b\r\nContent-Length: 0\r\n\r\n`, 400, 'malformed_http'],
    ['no host', 'GET /api/v1/spaces HTTP/1.1\r\n\r\n', 400, 'malformed_http'],
    ['the protocol before HTTP/1.0', 'GET /api/v1/spaces\r\n\r\n', 400, 'malformed_http'],
    ['an expectation', `${head}Expect: tea\r\nContent-Length: 2\r\n\r\n{}`, 417, 'expectation_failed'],
    ['a tunnel', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', 405, 'method_not_allowed'],
  ])(
    '(%s) are answered in the one error shape, and the connection ends',
    async (_name, bytes, status, code) => {
      const answer = await exchange(bytes);
      const [headers = '', body = ''] = answer.split('\r\n\r\n');
      expect(headers).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
      const { error } = JSON.parse(body) as { error: Record<string, unknown> };
      expect(error).toMatchObject({ type: 'invalid_request_error', code, param: null });
      expect(headers.toLowerCase()).toContain(`x-request-id: ${String(error.request_id)}`);
      expect(headers.toLowerCase()).toContain('connection: close');
    },
  );
});

describe('an error', () => {
  const path = '/v1/nothing';
  const ask = (accept: string, to = path) =>
    gateway.send({ method: 'GET', path: to, headers: { accept }, apiKey: here.apiKey });

  it('is a problem document for clients that prefer one', async () => {
    const answer = await ask('application/problem+json, application/json;q=0.5', '/v1/spaces/x/responses');
    expect(answer.headers['content-type']).toBe('application/problem+json');
    expect(answer.body).toMatchObject({
      type: 'urn:platform:error:invalid_request',
      title: 'invalid request',
      status: 422,
      code: 'invalid_request',
      param: 'space_id',
      request_id: answer.headers['x-request-id'],
    });
  });

  it.each(['application/json, application/problem+json;q=0.5', 'application/problem+json;q=0', '*/*', ''])(
    'is our own object for Accept: %s',
    async (accept) => {
      const answer = await ask(accept);
      expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
      expect(answer.body.error).toMatchObject({ code: 'route_not_found' });
    },
  );

  it.each(['/api', '/api-proxy', '/elsewhere'])(
    'has the one shape for an unknown path under %s',
    async (prefix) => {
      const answer = await gateway.send({ method: 'GET', path, prefix: prefix as '/api' });
      expect(answer).toMatchObject({
        status: 404,
        body: { error: { type: 'not_found_error', code: 'route_not_found' } },
      });
    },
  );
});

describe('HEAD', () => {
  it('answers like GET without a body, and attaches to no stream', async () => {
    const target = targets.find(({ operation }) => operation.id === 'getResponse')!;
    const headers = { accept: 'text/event-stream' };
    const answer = await gateway.send({ ...target.call, method: 'HEAD', headers });
    expect([answer.status, answer.text, answer.headers['content-type']]).toEqual([
      200,
      '',
      'application/json; charset=utf-8',
    ]);
  });
});
