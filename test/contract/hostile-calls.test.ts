import { createTRPCClient, httpBatchLink, httpLink, TRPCClientError } from '@trpc/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AppRouter } from '#api/trpc/router.ts';
import { openCallWorld, type CallWorld } from '../support/call-world.ts';
import type { Answer, Call } from '../support/gateway.ts';
import { errorOf, procedures, type Procedure } from '../support/procedures.ts';
import { countRowsBesideRefusals } from '../support/tables.ts';

const all = procedures();
let place: CallWorld;
let url: string;
/** A valid input of each procedure. */
const good = new Map<string, Record<string, unknown>>();

beforeAll(async () => {
  place = await openCallWorld();
  for (const { path } of all) {
    good.set(path, await place.fixtures[path]!.input(place.here));
  }
  url = await place.gateway.app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(() => place?.close());

interface Hostile {
  call: Call;
  status: number;
  code: string;
  param?: string | null;
}
type Kind = (procedure: Procedure) => Hostile[];

/** The call with `text` as its input, as it is. */
function raw(procedure: Procedure, text: string): Call {
  const apiKey = place.keyFor(procedure, place.here);
  return procedure.type === 'query'
    ? { method: 'GET', path: `/trpc/${procedure.path}?input=${encodeURIComponent(text)}`, apiKey }
    : { method: 'POST', path: `/trpc/${procedure.path}`, apiKey, body: text };
}
const sent = (procedure: Procedure, input: unknown): Call => raw(procedure, JSON.stringify(input));
const goodCall = (procedure: Procedure): Call => sent(procedure, good.get(procedure.path));
const invalid = (call: Call, param: string | null = null): Hostile => ({
  call,
  status: 422,
  code: 'invalid_request',
  param,
});
const unknown = (call: Call, param: string): Hostile => ({
  call,
  status: 422,
  code: 'unknown_parameter',
  param,
});
const names = (procedure: Procedure): string[] => Object.keys(good.get(procedure.path)!);
/** Each member of the input with a value of a type that it cannot have. */
const inMembers: Kind = (procedure) =>
  Object.entries(good.get(procedure.path)!).map(([name, value]) => {
    const wrong = typeof value === 'object' ? 'x' : [[1]];
    return invalid(sent(procedure, { ...good.get(procedure.path), [name]: wrong }), name);
  });
const inTexts =
  (value: string): Kind =>
  (procedure) =>
    names(procedure)
      .filter((name) => typeof good.get(procedure.path)![name] === 'string')
      .map((name) => invalid(sent(procedure, { ...good.get(procedure.path), [name]: value }), name));
const always =
  (hostile: (procedure: Procedure) => Hostile): Kind =>
  (procedure) => [hostile(procedure)];
const withText = (text: string): Kind => always((procedure) => invalid(raw(procedure, text)));
const mutations =
  (kind: Kind): Kind =>
  (procedure) =>
    procedure.type === 'mutation' ? kind(procedure) : [];

/** Messages take up to a million characters, documents a mebibyte. */
function tooLong({ path, type }: Procedure): number {
  if (['threads.start', 'threads.addMessage', 'documents.upload'].includes(path)) {
    return 1_048_577;
  }
  return type === 'mutation' ? 150_000 : 5_000;
}

const kinds: Record<string, Kind> = {
  'an unknown member': always((procedure) =>
    unknown(sent(procedure, { ...good.get(procedure.path), colour: 'red' }), 'colour'),
  ),
  'a wrong type in each member': inMembers,
  NUL: inTexts('a\0b'),
  'a lone surrogate': inTexts('a\uD800b'),
  'an empty text': inTexts(''),
  // A query is part of the address, which has a lower limit.
  'a very long text': (procedure) => inTexts('x'.repeat(tooLong(procedure)))(procedure),
  'deep nesting': withText(`${'{"a":'.repeat(80)}1${'}'.repeat(80)}`),
  'too many members': mutations(
    withText(JSON.stringify(Object.fromEntries(Array.from({ length: 10_001 }, (_, i) => [`k${i}`, 1])))),
  ),
  'malformed JSON': withText('{"a":'),
  'an array instead of an object': withText('[]'),
  'a text instead of an object': withText('"x"'),
  'a number instead of an object': withText('7'),
  'null instead of an object': withText('null'),
  'prototype keys': always((procedure) =>
    procedure.type === 'mutation'
      ? invalid(raw(procedure, '{"__proto__":{"admin":true}}'))
      : unknown(raw(procedure, '{"__proto__":{"admin":true}}'), '__proto__'),
  ),
  'an oversized body': mutations(
    always((procedure) => ({
      call: raw(procedure, `{"a":"${'x'.repeat(4 * 1024 * 1024)}"}`),
      status: 413,
      code: 'payload_too_large',
    })),
  ),
  'a wrong content type': mutations((procedure) =>
    ['text/plain', 'application/octet-stream', 'multipart/form-data; boundary=x'].map((type) => ({
      call: { ...goodCall(procedure), headers: { 'content-type': type } },
      status: 415,
      code: 'unsupported_media_type',
    })),
  ),
  'invalid UTF-8': mutations(
    always((procedure) =>
      invalid({ ...raw(procedure, ''), body: Buffer.from([0x7b, 0x22, 0xc3, 0x28, 0x22, 0x7d]) }),
    ),
  ),
  'the other method': always((procedure) => ({
    call:
      procedure.type === 'mutation'
        ? { ...raw({ ...procedure, type: 'query' }, JSON.stringify(good.get(procedure.path))) }
        : { ...raw({ ...procedure, type: 'mutation' }, JSON.stringify(good.get(procedure.path))) },
    status: 405,
    code: 'method_not_allowed',
  })),
  'a method of neither': (procedure) =>
    ['PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD'].map((method) => ({
      call: { method, path: `/trpc/${procedure.path}`, apiKey: place.here.apiKey },
      status: 405,
      code: 'method_not_allowed',
    })),
  'an unknown query parameter': always((procedure) => {
    const call = goodCall(procedure);
    const search = `${call.path.includes('?') ? '&' : '?'}colour=red`;
    return unknown({ ...call, path: call.path + search }, 'colour');
  }),
  'connection parameters': always((procedure) => {
    const call = goodCall(procedure);
    const search = `${call.path.includes('?') ? '&' : '?'}connectionParams=%7B%7D`;
    return unknown({ ...call, path: call.path + search }, 'connectionParams');
  }),
  'forged credentials': always((procedure) => ({
    call: {
      ...goodCall(procedure),
      apiKey: `ak.${'0'.repeat(16)}.${'0'.repeat(49)}`,
    },
    status: 401,
    code: 'invalid_credentials',
  })),
  'a header of another tenant': always((procedure) => ({
    call: { ...goodCall(procedure), headers: { 'x-tenant-id': place.abroad.tenantId } },
    status: 403,
    code: 'tenant_mismatch',
  })),
  'an unknown procedure': always((procedure) => ({
    call: { ...goodCall(procedure), path: `/trpc/${procedure.path}s` },
    status: 404,
    code: 'route_not_found',
  })),
};

describe.each(Object.entries(kinds))('%s', (name, kind) => {
  it('is refused by every procedure in the one error shape, and leaves nothing behind', async () => {
    const cells = all.flatMap((procedure) => kind(procedure).map((hostile) => ({ procedure, hostile })));
    expect(cells.length).toBeGreaterThan(0);
    const before = await countRowsBesideRefusals(place.admin);
    const found: string[] = [];
    const expected: string[] = [];
    for (const { procedure, hostile } of cells) {
      for (const prefix of ['/api', '/api-proxy'] as const) {
        const answer = await place.gateway.send({ ...hostile.call, prefix });
        found.push(`${prefix} ${procedure.path} ${describeRefusal(answer, hostile)}`);
        expected.push(`${prefix} ${procedure.path} ${wanted(hostile)}`);
      }
    }
    expect(found).toEqual(expected);
    const { events, event_dedupe: dedupe, ...rest } = await countRowsBesideRefusals(place.admin);
    expect(rest).toEqual(Object.fromEntries(Object.entries(before).filter(([table]) => table in rest)));
    const refused = cells.some(({ hostile }) => hostile.status === 403);
    expect([events! > before.events!, dedupe! > before.event_dedupe!], name).toEqual([refused, refused]);
  });
});

function describeRefusal(answer: Answer, hostile: Hostile): string {
  if (hostile.call.method === 'HEAD') {
    return `${answer.status} (no body) ${answer.text}`;
  }
  const error = errorOf(answer) ?? {};
  const param = hostile.param === undefined ? '' : ` ${error.param}`;
  const own = error.request_id === answer.headers['x-request-id'];
  return `${answer.status} ${error.code}${param} ${own}`;
}

function wanted({ call, status, code, param }: Hostile): string {
  return call.method === 'HEAD'
    ? `${status} (no body) `
    : `${status} ${code}${param === undefined ? '' : ` ${param}`} true`;
}

describe('an answer', () => {
  it('is never streamed, whatever the client accepts', async () => {
    const headers = { 'trpc-accept': 'application/jsonl', accept: 'application/jsonl' };
    const path = '/trpc/spaces.list?batch=1&input=%7B%220%22%3A%7B%7D%7D';
    const answer = await place.gateway.send({ method: 'GET', path, apiKey: place.here.apiKey, headers });
    expect([answer.status, answer.headers['content-type'], answer.headers['cache-control']]).toEqual([
      200,
      'application/json; charset=utf-8',
      'no-store',
    ]);
    expect(answer.body[0].result.data.data.length).toBeGreaterThan(0);
  });
});

describe('a batch', () => {
  const ask = (paths: string[], input: Record<string, unknown>, method = 'GET') =>
    place.gateway.send({
      method,
      path: `/trpc/${paths.join(',')}?batch=1${method === 'GET' ? `&input=${encodeURIComponent(JSON.stringify(input))}` : ''}`,
      apiKey: place.here.apiKey,
      ...(method === 'GET' ? {} : { body: input }),
    });

  it('answers each of its calls separately', async () => {
    const answer = await ask(['spaces.list', 'tenants.get', 'nothing.here'], {
      0: {},
      1: { tenant_id: 'x' },
    });
    expect(answer.status).toBe(207);
    const [first, second, third] = answer.body;
    expect(first.result.data.data.length).toBeGreaterThan(0);
    expect(second.error.data.error).toMatchObject({ code: 'invalid_request', param: 'tenant_id' });
    expect(third.error.data.error).toMatchObject({ code: 'route_not_found' });
  });

  it('has at most twenty calls, all of one kind', async () => {
    const paths = (length: number) => Array.from({ length }, () => 'spaces.list');
    const inputs = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [at, {}]));
    expect((await ask(paths(20), inputs)).status).toBe(200);
    const refused = [
      await ask(paths(21), inputs),
      await ask(['spaces.list', 'spaces.create'], { 0: {}, 1: { name: 'x' } }),
      await ask(['spaces.list'], [] as unknown as Record<string, unknown>),
      await ask(['spaces.create'], 'x' as unknown as Record<string, unknown>, 'POST'),
    ];
    const codes = refused.map((answer) =>
      [answer.body]
        .flat()
        .map((body) => (body as { error: { data: { error: { code: string } } } }).error.data.error.code),
    );
    expect(codes).toEqual([
      ['invalid_request'],
      ['invalid_request'],
      ['invalid_request'],
      ['invalid_request'],
    ]);
  });
});

describe('tRPC’s own client', () => {
  const client = (apiKey: string, link: typeof httpLink | typeof httpBatchLink) =>
    createTRPCClient<AppRouter>({
      links: [link({ url: `${url}/api/trpc`, headers: { 'X-API-Key': apiKey } })],
    });

  it.each([
    ['alone', httpLink],
    ['in batches', httpBatchLink],
  ] as const)('reads answers and refusals with their types, %s', async (_name, link) => {
    const api = client(place.here.apiKey, link);
    const [spaces, keys] = await Promise.all([api.spaces.list.query({}), api.apiKeys.list.query({})]);
    expect(spaces.data.some(({ id }) => id === place.here.spaceId)).toBe(true);
    expect(JSON.stringify(keys)).not.toContain(place.here.apiKey.split('.')[2]);
    const refusal = await api.tenants.create
      .mutate({ slug: 'x', name: 'X' })
      .catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(TRPCClientError);
    expect((refusal as TRPCClientError<AppRouter>).data).toMatchObject({
      code: 'FORBIDDEN',
      httpStatus: 403,
      error: { code: 'missing_permission', missing_permission: 'tenants.create' },
    });
    const stranger = await client('nobody', link)
      .spaces.list.query({})
      .catch((error: unknown) => error);
    expect((stranger as TRPCClientError<AppRouter>).data?.error.code).toBe('invalid_credentials');
  });
});
