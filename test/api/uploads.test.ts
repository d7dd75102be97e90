import { createHash, randomBytes } from 'node:crypto';
import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  openKnowledgeGateway,
  type Answer,
  type Client,
  type KnowledgeGateway,
} from '#test/support/knowledge-gateway.ts';

const maxBytes = 3_000_000;

let gateway: KnowledgeGateway;
let origin: string;

beforeAll(async () => {
  gateway = await openKnowledgeGateway({
    MAX_UPLOAD_BYTES: String(maxBytes),
    MAX_HTML_BYTES: '2000',
    MAX_UPLOADS_PER_TENANT: '3',
    UPLOAD_IDLE_SECONDS: '2',
  });
  await gateway.app.listen({ port: 0, host: '127.0.0.1' });
  origin = `http://127.0.0.1:${(gateway.app.server.address() as AddressInfo).port}`;
});
afterAll(async () => gateway.stop());

type Content = string | FormData | Uint8Array<ArrayBuffer>;

interface Target {
  client: Client;
  collectionId: string;
}

async function aTarget(): Promise<Target> {
  const client = await gateway.join();
  return { client, collectionId: await gateway.addCollection(client) };
}

const urlOf = ({ client, collectionId }: Target, rest: string): string =>
  `${origin}/api/v1/spaces/${client.spaceId}/collections/${collectionId}/documents${rest}`;

async function send(
  target: Target,
  rest: string,
  init: { body: Content; headers?: Record<string, string> },
): Promise<Answer> {
  const response = await fetch(urlOf(target, rest), {
    method: 'POST',
    body: init.body,
    headers: { 'x-api-key': target.client.key, ...init.headers },
    duplex: 'half',
  });
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body: await response.json(),
  };
}

const stream = (target: Target, body: Content, headers: Record<string, string> = {}, name = 'a.txt') =>
  send(target, `/content?filename=${encodeURIComponent(name)}`, { body, headers });

function formOf(file: Blob | null, fields: Record<string, string> = {}, name = 'notes.md'): FormData {
  const form = new FormData();
  if (file !== null) {
    form.append('file', file, name);
  }
  for (const [field, value] of Object.entries(fields)) {
    form.append(field, value);
  }
  return form;
}

/** A request whose body the test sends piece by piece. */
function open(
  target: Target,
  headers: Record<string, string> = {},
): { request: ClientRequest; answer: Promise<Answer> } {
  const request = httpRequest(urlOf(target, '/content?filename=a.txt'), {
    method: 'POST',
    agent: false,
    headers: { 'x-api-key': target.client.key, 'content-type': 'text/plain', ...headers },
  });
  const answer = new Promise<Answer>((resolve, reject) => {
    request.on('error', reject);
    request.on('response', (response: IncomingMessage) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: JSON.parse(text) }),
      );
    });
  });
  answer.catch(() => {});
  return { request, answer };
}

const objectsOf = async ({ client }: Target) =>
  (
    await gateway.world.admin.query<{ key: string; sha256: string | null; purge_after: Date | null }>(
      'select key, sha256, purge_after from stored_objects where tenant_id = $1',
      [client.tenantId],
    )
  ).rows;

const nothingStored = (target: Target) =>
  vi.waitFor(async () => expect(await objectsOf(target)).toEqual([]), { timeout: 5_000 });

async function download(target: Target, id: string): Promise<Buffer> {
  const response = await fetch(urlOf(target, `/${id}/content`), {
    headers: { 'x-api-key': target.client.key },
  });
  expect(response.status).toBe(200);
  return Buffer.from(await response.arrayBuffer());
}

/** Text that cleaning would change: a byte order mark, a noncharacter, both kinds of line ends. */
const oddText = Buffer.from('\ufeffOne\r\nTwo\rThree\ufffd\u{1ffff}\n'.repeat(30_000));

describe('a file in a form', () => {
  it('becomes a document with its fields, and comes back byte for byte', async () => {
    const target = await aTarget();
    const form = formOf(new Blob([oddText], { type: 'text/markdown' }), { metadata: '{"lang":"de"}' });
    const { status, body } = await send(target, '', { body: form });
    expect(status).toBe(201);
    expect(body.data).toMatchObject({
      filename: 'notes.md',
      media_type: 'text/markdown',
      status: 'processing',
      byte_size: oddText.length,
      content_hash: createHash('sha256').update(oddText).digest('hex'),
      metadata: { lang: 'de' },
    });
    expect((await download(target, body.data.id)).equals(oddText)).toBe(true);
    const [object] = await objectsOf(target);
    // No hold is left: a deletion is purged at once.
    expect(object).toMatchObject({ sha256: body.data.content_hash, purge_after: null });
  });

  it('has the name and the type of the fields where they are given, before or after the file', async () => {
    const target = await aTarget();
    const form = new FormData();
    form.append('filename', 'other.txt');
    form.append('file', new Blob(['# A']), 'x.bin');
    form.append('media_type', 'text/markdown');
    const { body } = await send(target, '', { body: form });
    expect(body.data).toMatchObject({ filename: 'other.txt', media_type: 'text/markdown' });
  });

  it.each([
    ['no file', formOf(null, { filename: 'a' }), 'file'],
    ['an empty file', formOf(new Blob([])), 'content'],
    ['metadata that is no JSON', formOf(new Blob(['A']), { metadata: '{' }), 'metadata'],
    ['metadata of another shape', formOf(new Blob(['A']), { metadata: '{"a":1}' }), 'metadata.a'],
    ['an unknown type', formOf(new Blob(['A']), { media_type: 'video/mp4' }), 'media_type'],
    ['an unknown field', formOf(new Blob(['A']), { colour: 'red' }), 'colour'],
  ])('is refused with 422 for %s, and leaves nothing', async (_what, form, param) => {
    const target = await aTarget();
    expect(await send(target, '', { body: form })).toMatchObject({ status: 422, body: { error: { param } } });
    await nothingStored(target);
  });

  it('is refused where there are two', async () => {
    const target = await aTarget();
    const form = formOf(new Blob(['A'.repeat(300_000)]));
    form.append('file', new Blob(['B'.repeat(300_000)]), 'b.txt');
    expect(await send(target, '', { body: form })).toMatchObject({
      status: 422,
      body: { error: { param: 'file' } },
    });
    await nothingStored(target);
  });

  it.each([
    ['without a boundary', 'multipart/form-data', '--x\r\n\r\n'],
    [
      'with another boundary',
      'multipart/form-data; boundary=y',
      '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nA\r\n--x--\r\n',
    ],
    [
      'cut off',
      'multipart/form-data; boundary=x',
      '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nA',
    ],
    [
      'with a field of a prototype',
      'multipart/form-data; boundary=x',
      '--x\r\nContent-Disposition: form-data; name="__proto__"\r\n\r\nA\r\n--x--\r\n',
    ],
  ])('is refused with 422 %s', async (_how, type, body) => {
    const target = await aTarget();
    const refused = await send(target, '', { body, headers: { 'content-type': type } });
    expect(refused).toMatchObject({ status: 422, body: { error: { code: 'invalid_request' } } });
    await nothingStored(target);
  });

  it('is refused with 413 when it is too large, and leaves nothing', async () => {
    const target = await aTarget();
    const refused = await send(target, '', { body: formOf(new Blob(['A'.repeat(maxBytes + 1)])) });
    expect(refused).toMatchObject({ status: 413, body: { error: { code: 'payload_too_large' } } });
    await nothingStored(target);
    expect((await send(target, '', { body: formOf(new Blob(['A'.repeat(maxBytes)])) })).status).toBe(201);
  });
});

describe('a file as a body', () => {
  it('becomes a document, whose type its content and then its name decide', async () => {
    const target = await aTarget();
    const type = { 'content-type': 'application/octet-stream' };
    const added = await stream(target, oddText, type, 'notes.md');
    expect(added).toMatchObject({ status: 201, body: { data: { media_type: 'text/markdown' } } });
    expect((await download(target, added.body.data.id)).equals(oddText)).toBe(true);
    const page = await stream(target, '<!doctype html><p>A', type, 'notes.md');
    expect(page.body.data.media_type).toBe('text/html');
    const json = await stream(target, '{"a":1}', { 'content-type': 'application/json' }, 'a.txt');
    expect(json.status).toBe(201);
  });

  it.each([
    ['..%2F..%2Fetc%2Fpasswd', 'etc/passwd'],
    ['C:%5Ctemp%5Cb.txt', 'C:/temp/b.txt'],
    ['a%0D%0Ab%1F%E2%80%AEtxt.exe', 'abtxt.exe'],
  ])('named %s is stored as %s', async (name, stored) => {
    const target = await aTarget();
    const added = await send(target, `/content?filename=${name}`, { body: 'A' });
    expect(added.body.data.filename).toBe(stored);
  });

  it.each(['..', '%0A%0B', '%2F', 'x'.repeat(300), ''])('named “%s” is refused with 422', async (name) => {
    const target = await aTarget();
    const refused = await send(target, `/content?filename=${name}`, { body: 'A' });
    expect(refused).toMatchObject({ status: 422, body: { error: { param: 'filename' } } });
    await nothingStored(target);
  });

  it('is the same document for a repeat of its key with the same bytes, and stored once', async () => {
    const target = await aTarget();
    const key = { 'idempotency-key': 'k1' };
    const first = await stream(target, 'A'.repeat(400_000), key);
    const again = await stream(target, 'A'.repeat(400_000), key);
    expect(again).toMatchObject({ status: 200, headers: { 'idempotent-replayed': 'true' } });
    expect(again.body).toEqual(first.body);
    const other = await stream(target, 'B'.repeat(400_000), key);
    expect(other).toMatchObject({ status: 422, body: { error: { code: 'idempotency_key_reused' } } });
    const copy = await stream(target, 'A'.repeat(400_000));
    expect(copy.body.data.id).not.toBe(first.body.data.id);
    expect(await objectsOf(target)).toHaveLength(1);
  });

  it('is refused by its first bytes when it is of no supported type, before the rest is sent', async () => {
    const target = await aTarget();
    const { request, answer } = open(target);
    request.write(Buffer.concat([Buffer.from('\x89PNG\r\n', 'latin1'), randomBytes(100_000)]));
    const refused = await answer;
    expect(refused).toMatchObject({
      status: 422,
      body: { error: { code: 'unsupported_document_type', param: 'content' } },
    });
    expect(refused.body.error.message).toContain('text/markdown');
    request.destroy();
    await nothingStored(target);
  });

  it('is refused with 413 by its Content-Length before it is sent, and by its bytes where there is none', async () => {
    const target = await aTarget();
    const announced = open(target, { 'content-length': String(maxBytes + 1) });
    announced.request.flushHeaders();
    expect(await announced.answer).toMatchObject({
      status: 413,
      body: { error: { code: 'payload_too_large' } },
    });
    announced.request.destroy();
    const chunked = open(target);
    for (let n = 0; n < 32; n += 1) {
      chunked.request.write(Buffer.alloc(100_000, 'a'));
    }
    expect(await chunked.answer).toMatchObject({ status: 413 });
    chunked.request.destroy();
    expect(await stream(target, '<html>' + 'h'.repeat(2_000))).toMatchObject({ status: 413 });
    await nothingStored(target);
  });

  it('is ended with 408 when nothing comes for a while, and leaves nothing', async () => {
    const target = await aTarget();
    const { request, answer } = open(target, { 'content-length': '1000000' });
    request.write(Buffer.alloc(500_000, 'a'));
    expect(await answer).toMatchObject({ status: 408, body: { error: { code: 'request_timeout' } } });
    request.destroy();
    await nothingStored(target);
  });

  it('leaves nothing when its client leaves', async () => {
    const target = await aTarget();
    const { request } = open(target, { 'content-length': '1000000' });
    request.write(Buffer.alloc(600_000, 'a'));
    await vi.waitFor(async () => expect(await objectsOf(target)).toHaveLength(1));
    request.destroy();
    await nothingStored(target);
  });

  it('is refused without the permission, and in another tenant, before it is sent', async () => {
    const target = await aTarget();
    const viewer = await gateway.join('space_viewer', target.client);
    const refused = open({ ...target, client: viewer }, { 'content-length': '1000000' });
    refused.request.flushHeaders();
    expect(await refused.answer).toMatchObject({
      status: 403,
      body: { error: { missing_permission: 'documents.write' } },
    });
    const foreign = open({ ...target, client: await gateway.join() }, { 'content-length': '1000000' });
    foreign.request.flushHeaders();
    expect(await foreign.answer).toMatchObject({
      status: 404,
      body: { error: { code: 'collection_not_found' } },
    });
    refused.request.destroy();
    foreign.request.destroy();
  });

  it('finds three places a tenant, of which other tenants notice nothing', async () => {
    const [target, other] = [await aTarget(), await aTarget()];
    const uploads = Array.from({ length: 20 }, () => open(target, { 'content-length': '300000' }));
    const refused: Answer[] = [];
    uploads.forEach(({ request, answer }) => {
      request.write(Buffer.alloc(1_000, 'a'));
      answer.then(
        (given) => refused.push(given),
        () => undefined,
      );
    });
    await vi.waitFor(() => expect(refused).toHaveLength(17), { timeout: 10_000, interval: 20 });
    for (const each of refused) {
      expect(each).toMatchObject({ status: 429, headers: { 'retry-after': '2' } });
    }
    expect((await stream(other, 'A')).status).toBe(201);
    uploads.forEach(({ request }) => request.end(Buffer.alloc(299_000, 'a')));
    const statuses = (await Promise.allSettled(uploads.map(({ answer }) => answer))).map((each) =>
      each.status === 'fulfilled' ? each.value.status : 0,
    );
    expect(statuses.filter((status) => status === 201)).toHaveLength(3);
    expect((await stream(target, 'B')).status).toBe(201);
  });

  it('is a body only there: other operations keep their limit and their type', async () => {
    const target = await aTarget();
    const url = `${origin}/api/v1/spaces/${target.client.spaceId}/collections`;
    const post = (body: Content, type: string) =>
      fetch(url, { method: 'POST', body, headers: { 'x-api-key': target.client.key, 'content-type': type } });
    expect((await post(JSON.stringify({ name: 'x'.repeat(1_100_000) }), 'application/json')).status).toBe(
      413,
    );
    expect((await post('A', 'text/plain')).status).toBe(415);
    expect((await post(formOf(new Blob(['A'])), 'multipart/form-data; boundary=x')).status).toBe(415);
  });
});
