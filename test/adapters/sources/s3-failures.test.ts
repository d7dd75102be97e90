import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { s3Provider } from '#adapters/sources/s3/provider.ts';
import type { Source } from '#domain/knowledge/connectors/source.ts';
import { startHttpRelay, type HttpRelay } from '../../support/sources/http-relay.ts';
import { maxPause } from '../../support/max-pause.ts';
import { listAll, openSource } from '../../support/sources/open-source.ts';

let server: HttpRelay;
let source: Source;
const signal = AbortSignal.timeout(600_000);

beforeAll(async () => {
  server = await startHttpRelay(() => 9);
  source = await openSource(s3Provider, {
    slug: 's3',
    scopeConfig: { endpoint: server.origin, bucket: 'documents' },
    credential: {
      origin: server.origin,
      value: { kind: 'access_key', access_key_id: 'AK', secret_access_key: 'secret' },
    },
    allowedOrigins: [server.origin],
    roots: {},
  });
});
afterAll(() => server.close());

const answer = (status: number, body: string | Buffer = '', headers: Record<string, string> = {}) =>
  server.intercept((_, response) => {
    response.writeHead(status, headers).end(body);
    return true;
  });
const respond = (how: (response: ServerResponse, url: URL) => void) =>
  server.intercept(({ url }, response) => {
    how(response, new URL(url ?? '/', server.origin));
    return true;
  });
const errorOf = (code: string) => `<Error><Code>${code}</Code><Message>words of the source</Message></Error>`;
const listing = (members: string) => `<ListBucketResult><Name>documents</Name>${members}</ListBucketResult>`;
const object = (key: string) =>
  `<Contents><Key>${key}</Key><ETag>"e"</ETag><Size>1</Size><LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>`;
const fetchOne = () => source.fetch({ ref: 'a.md', version: null, mediaType: null, maxBytes: 1_000 }, signal);

test.each([
  [400, 'ExpiredToken', 'auth_failed'],
  [401, '', 'auth_failed'],
  [403, 'InvalidAccessKeyId', 'auth_failed'],
  [403, 'SignatureDoesNotMatch', 'auth_failed'],
  [403, 'AccessDenied', 'auth_failed'],
  [403, 'RequestTimeTooSkewed', 'auth_failed'],
  [404, 'NoSuchBucket', 'scope_invalid'],
  [301, 'PermanentRedirect', 'scope_invalid'],
  [400, 'AuthorizationHeaderMalformed', 'scope_invalid'],
  [307, 'TemporaryRedirect', 'source_unreachable'],
  [405, 'MethodNotAllowed', 'scope_invalid'],
  [429, 'TooManyRequests', 'rate_limited'],
  [503, 'SlowDown', 'rate_limited'],
  [503, 'ServiceUnavailable', 'source_unreachable'],
  [500, 'InternalError', 'source_unreachable'],
  [500, '', 'source_unreachable'],
  [507, '', 'quota_exceeded'],
  [200, 'InternalError', 'source_unreachable'],
])('a listing answered with %i %s fails as %s', async (status, code, expected) => {
  answer(status, code === '' ? '' : errorOf(code));
  const failure = await listAll(source).catch((error: unknown) => error);
  expect(failure).toMatchObject({ name: 'SourceFailure', code: expected });
  expect(String(failure)).not.toContain('words of the source');
});

test('a pause that the source asks for is in the failure', async () => {
  answer(503, errorOf('SlowDown'), { 'retry-after': '7' });
  await expect(listAll(source)).rejects.toMatchObject({ code: 'rate_limited', retryAfterMs: 7_000 });
});

test('one forbidden or archived object is skipped; a refused key is a failure', async () => {
  for (const code of ['AccessDenied', 'InvalidObjectState']) {
    answer(403, errorOf(code));
    expect(await fetchOne()).toEqual({ kind: 'skipped', code: 'forbidden_by_source' });
  }
  answer(403, errorOf('InvalidAccessKeyId'));
  await expect(fetchOne()).rejects.toMatchObject({ code: 'auth_failed' });
});

test('a continuation token that the source no longer knows begins the listing again', async () => {
  answer(400, errorOf('InvalidArgument'));
  await expect(source.list({ cursor: '2:token', checkpoint: null }, signal)).rejects.toMatchObject({
    code: 'cursor_expired',
  });
  await expect(source.list({ cursor: 'no position', checkpoint: null }, signal)).rejects.toMatchObject({
    code: 'cursor_expired',
  });
});

test.each([
  [404, 'NoSuchKey'],
  [405, 'MethodNotAllowed'],
])('an object whose last version is a delete marker, answered with %i, is gone', async (status, code) => {
  respond((response) => {
    response
      .writeHead(status, { 'x-amz-delete-marker': 'true', 'x-amz-version-id': 'v2' })
      .end(errorOf(code));
  });
  expect(await fetchOne()).toEqual({ kind: 'gone' });
  expect(await source.exists('a.md', signal)).toBe(false);
});

test('a version is no other document: its content is the one that is read without a version', async () => {
  const asked: string[] = [];
  respond((response, url) => {
    asked.push(url.search);
    if (url.searchParams.has('list-type'))
      response.end(listing(`<IsTruncated>false</IsTruncated>${object('a.md')}`));
    else response.writeHead(200, { 'x-amz-version-id': 'v3', etag: '"e"' }).end('third');
  });
  expect((await listAll(source)).documents.map(({ ref }) => ref)).toEqual(['a.md']);
  expect(await fetchOne()).toMatchObject({ kind: 'content', content: Buffer.from('third') });
  expect(asked.join()).not.toMatch(/versions|versionId/);
});

test('a temporary key is sent with its session token, which is signed', async () => {
  const value = {
    kind: 'access_key',
    access_key_id: 'ASIA',
    secret_access_key: 'secret',
    session_token: 'token-of-the-session',
  } as const;
  const temporary = await openSource(s3Provider, {
    slug: 's3',
    scopeConfig: { endpoint: server.origin, bucket: 'documents' },
    credential: { origin: server.origin, value },
    allowedOrigins: [server.origin],
    roots: {},
  });
  let headers: IncomingHttpHeaders = {};
  server.intercept((request, response) => {
    ({ headers } = request);
    response.end(listing('<IsTruncated>false</IsTruncated>'));
    return true;
  });
  await temporary.check(signal);
  expect(headers['x-amz-security-token']).toBe('token-of-the-session');
  expect(headers.authorization).toMatch(/SignedHeaders=[^,]*x-amz-security-token/);
  answer(400, errorOf('ExpiredToken'));
  await expect(temporary.check(signal)).rejects.toMatchObject({ code: 'auth_failed' });
});

test('no redirect is followed', async () => {
  const before = server.requests();
  answer(302, '', { location: `${server.origin}/elsewhere` });
  await expect(fetchOne()).rejects.toMatchObject({ name: 'SourceFailure' });
  expect(server.requests()).toBe(before + 1);
});

test('pages without an end are cut as truncated', async () => {
  respond((response, url) => {
    const at = Number(url.searchParams.get('continuation-token') ?? 0) + 1;
    const more = `<IsTruncated>true</IsTruncated><NextContinuationToken>${at}</NextContinuationToken>`;
    response.end(listing(more + object(`${at}.md`)));
  });
  expect(await listAll(source, null, signal)).toMatchObject({ pages: 1_000, truncated: true });
});

test.each([
  ['the same token again', '<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>'],
  ['no token', '<IsTruncated>true</IsTruncated>'],
  ['no members', ''],
  [
    'a key that cannot be decoded',
    `<IsTruncated>false</IsTruncated><EncodingType>url</EncodingType>${object('%E0%A4%A')}`,
  ],
  ['more keys than requested', `<IsTruncated>false</IsTruncated>${object('a').repeat(1_001)}`],
  ['entities that multiply', `<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">]><x>&a;</x>`],
])('a listing with %s is invalid', async (_, members) => {
  answer(200, members.startsWith('<!') ? members : listing(members));
  await expect(source.list({ cursor: '2:t', checkpoint: null }, signal)).rejects.toMatchObject({
    code: 'source_invalid',
  });
});

test('folders and empty keys are no documents', async () => {
  const objects = ['folder/', 'x_$folder$', 'a.md', ''].map(object).join('');
  answer(200, listing(`<IsTruncated>false</IsTruncated>${objects}`));
  expect((await listAll(source)).documents.map(({ ref }) => ref)).toEqual(['a.md']);
});

test('a listing that inflates beyond its limit is refused', async () => {
  answer(200, gzipSync(Buffer.alloc(64 * 1_048_576, ' ')), { 'content-encoding': 'gzip' });
  await expect(listAll(source)).rejects.toMatchObject({ code: 'source_invalid' });
});

test('content that inflates beyond its limit is too large; smaller content is inflated', async () => {
  answer(200, gzipSync(Buffer.alloc(64 * 1_048_576, ' ')), { 'content-encoding': 'gzip' });
  expect(await fetchOne()).toEqual({ kind: 'skipped', code: 'too_large' });
  answer(200, gzipSync('text'), { 'content-encoding': 'gzip' });
  expect(await fetchOne()).toMatchObject({ kind: 'content', content: Buffer.from('text') });
});

test('an answer that is longer or shorter than it says is not taken for the content', async () => {
  respond((response) => void response.writeHead(200, { 'content-length': '100' }).end('short'));
  await expect(fetchOne()).rejects.toMatchObject({ code: 'source_unreachable' });
  respond((response) => void response.writeHead(200, { 'content-length': '999999' }).write('x'));
  expect(await fetchOne()).toEqual({ kind: 'skipped', code: 'too_large' });
});

test('a connection that is cut is unreachable, before and within the content', async () => {
  respond((response) => void response.destroy());
  await expect(fetchOne()).rejects.toMatchObject({ code: 'source_unreachable' });
  respond((response) => {
    response.writeHead(200).write('beginning');
    setTimeout(() => response.destroy(), 50);
  });
  await expect(fetchOne()).rejects.toMatchObject({ code: 'source_unreachable' });
});

test('the signal of the caller ends a request that is not answered', async () => {
  server.intercept(() => true);
  const began = Date.now();
  await expect(source.check(AbortSignal.timeout(200))).rejects.toThrow();
  expect(Date.now() - began).toBeLessThan(5_000);
});

test('a key with parts that addresses cannot hold is skipped without a request', async () => {
  const before = server.requests();
  const input = { ref: 'a/../b.md', version: null, mediaType: null, maxBytes: 1_000 };
  expect(await source.fetch(input, signal)).toEqual({ kind: 'skipped', code: 'not_a_document' });
  expect(server.requests()).toBe(before);
});

test('an address that is not public is refused before a request', async () => {
  const closed = await openSource(s3Provider, {
    slug: 's3',
    scopeConfig: { endpoint: 'https://127.0.0.1:4430', bucket: 'documents' },
    credential: {
      origin: 'https://127.0.0.1:4430',
      value: { kind: 'access_key', access_key_id: 'AK', secret_access_key: 'secret' },
    },
    allowedOrigins: [],
    roots: {},
  });
  await expect(closed.check(signal)).rejects.toMatchObject({ code: 'scope_invalid' });
});

test('an object that may not be read is deleted where the bucket does not list it', async () => {
  const respondTo = (isListable: boolean, keys: string, status = 403) =>
    respond((response, url) => {
      if (!url.searchParams.has('list-type')) response.writeHead(status).end();
      else if (isListable) response.end(listing(`<IsTruncated>false</IsTruncated>${keys}`));
      else response.writeHead(403).end(errorOf('AccessDenied'));
    });
  respondTo(true, `<EncodingType>url</EncodingType>${object('a+%C3%A4.md')}`);
  expect(await source.exists('a ä.md', signal)).toBe(true);
  respondTo(true, '');
  expect(await source.exists('a.md', signal)).toBe(false);
  respondTo(true, object('a.md.old'));
  expect(await source.exists('a.md', signal)).toBe(false);
  respondTo(false, '');
  expect(await source.exists('a.md', signal)).toBe(true);
  respondTo(true, '', 401);
  await expect(source.exists('a.md', signal)).rejects.toMatchObject({ code: 'auth_failed' });
});

test('keys are compared with hostile patterns beside the event loop', async () => {
  const keys = Array.from({ length: 300 }, (_, at) => object(`${'a'.repeat(900)}${at}`));
  answer(200, listing(`<IsTruncated>false</IsTruncated>${keys.join('')}`));
  const exclude = Array<string>(50).fill(`*${'a'.repeat(98)}b${'a'.repeat(98)}*`);
  const filtered = await openSource(s3Provider, {
    slug: 's3',
    scopeConfig: { endpoint: server.origin, bucket: 'documents', exclude },
    credential: {
      origin: server.origin,
      value: { kind: 'access_key', access_key_id: 'AK', secret_access_key: 'secret' },
    },
    allowedOrigins: [server.origin],
    roots: {},
  });
  const list = async () => expect((await listAll(filtered)).documents).toHaveLength(300);
  expect(await maxPause(list)).toBeLessThan(500);
});
