import { createHash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { openKnowledgeGateway, type Client, type KnowledgeGateway } from '#test/support/knowledge-gateway.ts';
import type { KnowledgeWorld } from '#test/support/knowledge-world.ts';

let gateway: KnowledgeGateway;
let world: KnowledgeWorld;
let app: FastifyInstance;

beforeAll(async () => {
  gateway = await openKnowledgeGateway({ MAX_HTML_BYTES: '2000' });
  ({ world, app } = gateway);
});
afterAll(async () => gateway.stop());

const join: KnowledgeGateway['join'] = (...args) => gateway.join(...args);
const call: KnowledgeGateway['call'] = (...args) => gateway.call(...args);
const addCollection: KnowledgeGateway['addCollection'] = (...args) => gateway.addCollection(...args);

const document = {
  filename: 'guide.md',
  media_type: 'text/markdown',
  content: '# Guide\n\nThe beacon is blue.\n',
};

describe('POST /v1/spaces/{space_id}/collections', () => {
  it('answers 201 with the record, and the same record with 200 for a repeat of its key', async () => {
    const client = await join();
    const key = { 'idempotency-key': 'k-1' };
    const first = await call(client, 'POST', '', { name: 'Harbours', description: 'All of them' }, key);
    expect(first.status).toBe(201);
    expect(first.body.data).toMatchObject({
      space_id: client.spaceId,
      name: 'Harbours',
      description: 'All of them',
      text_search_config: 'english',
      created_by: client.principalId,
    });
    const again = await call(client, 'POST', '', { name: 'Harbours', description: 'All of them' }, key);
    expect(again).toMatchObject({ status: 200, headers: { 'idempotent-replayed': 'true' } });
    expect(again.body).toEqual(first.body);
    const other = await call(client, 'POST', '', { name: 'Other' }, key);
    expect(other).toMatchObject({ status: 422, body: { error: { code: 'idempotency_key_reused' } } });
  });

  it.each([
    [{}, 'name'],
    [{ name: '' }, 'name'],
    [{ name: 'A', text_search_config: 'klingon' }, 'text_search_config'],
    [{ name: 'A', colour: 'red' }, 'colour'],
  ])('answers 422 for %j and names the field', async (payload, field) => {
    const { status, body } = await call(await join(), 'POST', '', payload);
    expect(status).toBe(422);
    expect(JSON.stringify(body.error)).toContain(field);
  });

  it('answers 403 with the missing permission to a member that only reads', async () => {
    const refused = await call(await join('space_viewer'), 'POST', '', { name: 'A' });
    expect(refused).toMatchObject({
      status: 403,
      body: { error: { code: 'missing_permission', missing_permission: 'collections.create' } },
    });
  });
});

describe('GET /v1/spaces/{space_id}/collections', () => {
  it('pages newest first', async () => {
    const client = await join();
    const ids = [await addCollection(client, 'A'), await addCollection(client, 'B')];
    const first = await call(client, 'GET', '?limit=1');
    expect(first.body.data.map((item: { id: string }) => item.id)).toEqual([ids[1]]);
    expect(first.body.meta.has_more).toBe(true);
    const second = await call(client, 'GET', `?limit=1&cursor=${first.body.meta.next_cursor}`);
    expect(second.body.data.map((item: { id: string }) => item.id)).toEqual([ids[0]]);
    expect(second.body.meta).toEqual({ next_cursor: null, has_more: false });
  });
});

describe('DELETE /v1/spaces/{space_id}/collections/{collection_id}', () => {
  it('deletes it, and then does not know it', async () => {
    const client = await join();
    const id = await addCollection(client);
    const gone = await call(client, 'DELETE', `/${id}`);
    expect(gone).toMatchObject({ status: 200, body: { data: { id, deleted: true } } });
    const again = await call(client, 'DELETE', `/${id}`);
    expect(again).toMatchObject({ status: 404, body: { error: { code: 'collection_not_found' } } });
  });
});

describe('documents of a collection', () => {
  it('are added as processing, read, listed and deleted without their content ever coming back', async () => {
    const client = await join();
    const id = await addCollection(client);
    const added = await call(client, 'POST', `/${id}/documents`, { ...document, metadata: { lang: 'en' } });
    expect(added.status).toBe(201);
    expect(added.body.data).toMatchObject({
      collection_id: id,
      status: 'processing',
      failure_code: null,
      chunk_count: 0,
      embedded_count: 0,
      embedding_error: null,
      metadata: { lang: 'en' },
    });
    expect(JSON.stringify(added.body)).not.toContain('beacon');
    const documentId = added.body.data.id as string;
    expect(world.dispatches.at(-1)).toMatchObject({
      workflowId: `document/${client.tenantId}/${documentId}`,
    });
    const read = await call(client, 'GET', `/${id}/documents/${documentId}`);
    expect(read).toMatchObject({ status: 200, body: added.body });
    const list = await call(client, 'GET', `/${id}/documents`);
    expect(list.body).toEqual({ data: [added.body.data], meta: { next_cursor: null, has_more: false } });
    const gone = await call(client, 'DELETE', `/${id}/documents/${documentId}`);
    expect(gone).toMatchObject({ status: 200, body: { data: { id: documentId, deleted: true } } });
    const after = await call(client, 'GET', `/${id}/documents/${documentId}`);
    expect(after).toMatchObject({ status: 404, body: { error: { code: 'document_not_found' } } });
  });

  it('are refused with 422 when their type is unknown or their bytes are too many', async () => {
    const client = await join();
    const id = await addCollection(client);
    const unknown = await call(client, 'POST', `/${id}/documents`, {
      ...document,
      media_type: 'application/x-unknown',
    });
    expect(unknown).toMatchObject({ status: 422, body: { error: { param: 'media_type' } } });
    const big = await call(client, 'POST', `/${id}/documents`, { ...document, content: 'ä'.repeat(524_289) });
    expect(big).toMatchObject({ status: 422, body: { error: { param: 'content' } } });
  });

  it('are refused by 422 when their content is something else than text, and leave nothing', async () => {
    const client = await join();
    const id = await addCollection(client);
    const pdf = await call(client, 'POST', `/${id}/documents`, {
      ...document,
      content: '%PDF-1.7 and so on',
    });
    expect(pdf).toMatchObject({ status: 422, body: { error: { param: 'content' } } });
    expect(pdf.body.error.message).toContain('application/pdf');
    const big = await call(client, 'POST', `/${id}/documents`, { ...document, content: 'ä'.repeat(524_289) });
    expect(big.status).toBe(422);
    const left = await world.admin.query('select from stored_objects where tenant_id = $1', [
      client.tenantId,
    ]);
    expect(left.rowCount).toBe(0);
  });

  it('are taken with one byte as many as the type may have, and refused with one more', async () => {
    const client = await join();
    const id = await addCollection(client);
    const upload = (content: string) =>
      call(client, 'POST', `/${id}/documents`, { ...document, media_type: 'text/html', content });
    expect(await upload('h'.repeat(2_001))).toMatchObject({
      status: 422,
      body: { error: { param: 'content' } },
    });
    expect((await upload('h'.repeat(2_000))).status).toBe(201);
  });

  it('have the type that their content shows', async () => {
    const client = await join();
    const id = await addCollection(client);
    const added = await call(client, 'POST', `/${id}/documents`, {
      ...document,
      content: '<!doctype html><p>A',
    });
    expect(added.body.data.media_type).toBe('text/html');
  });

  it('are not found by another tenant, byte for byte like an unknown collection', async () => {
    const client = await join();
    const id = await addCollection(client);
    const stranger = await join();
    const foreign = await call(stranger, 'GET', `/${id}/documents`);
    const unknown = await call(stranger, 'GET', `/${newId()}/documents`);
    expect(foreign.status).toBe(404);
    const { request_id: one, ...said } = foreign.body.error;
    const { request_id: two, ...saidOfUnknown } = unknown.body.error;
    expect(said).toEqual(saidOfUnknown);
    expect(one).not.toBe(two);
  });
});

describe('GET …/documents/{document_id}/content', () => {
  const download = (client: Client, path: string) =>
    app.inject({
      method: 'GET',
      url: `/api/v1/spaces/${client.spaceId}/collections/${path}`,
      headers: { 'x-api-key': client.key },
    });

  async function added(client: Client, fields: object = {}): Promise<{ path: string; hash: string }> {
    const id = await addCollection(client);
    const { body } = await call(client, 'POST', `/${id}/documents`, { ...document, ...fields });
    return { path: `${id}/documents/${body.data.id}/content`, hash: body.data.content_hash };
  }

  it('gives the original bytes as a file that no browser shows', async () => {
    const client = await join();
    const content = 'Ein Bär. '.repeat(60_000);
    const { path, hash } = await added(client, { content, filename: 'Bär "1"\r\n.md' });
    const { statusCode, headers, rawPayload } = await download(client, path);
    expect(statusCode).toBe(200);
    expect(rawPayload.equals(Buffer.from(content))).toBe(true);
    expect(createHash('sha256').update(rawPayload).digest('hex')).toBe(hash);
    expect(headers).toMatchObject({
      'content-type': 'text/markdown; charset=utf-8',
      'content-length': String(rawPayload.length),
      'content-disposition': `attachment; filename="B_r _1_.md"; filename*=UTF-8''B%C3%A4r%20%221%22.md`,
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    });
  });

  it('is not sent again to a client that has it', async () => {
    const client = await join();
    const { path, hash } = await added(client);
    const again = await app.inject({
      method: 'GET',
      url: `/api/v1/spaces/${client.spaceId}/collections/${path}`,
      headers: { 'x-api-key': client.key, 'if-none-match': `"x", W/"${hash}"` },
    });
    expect(again).toMatchObject({ statusCode: 304, body: '', headers: { etag: `"${hash}"` } });
  });

  it('is unknown to other tenants, and after a deletion', async () => {
    const client = await join();
    const { path } = await added(client);
    const stranger = await join();
    expect((await download(stranger, path)).statusCode).toBe(404);
    const foreign = await app.inject({
      method: 'GET',
      url: `/api/v1/spaces/${client.spaceId}/collections/${path}`,
      headers: { 'x-api-key': stranger.key },
    });
    expect(foreign.statusCode).toBe(404);
    await call(client, 'DELETE', `/${path.replace('/content', '')}`);
    const gone = await download(client, path);
    expect(gone.statusCode).toBe(404);
    expect(gone.json()).toMatchObject({ error: { code: 'document_not_found' } });
  });

  it('answers 404 where the bytes are gone before it begins', async () => {
    const client = await join();
    const { path } = await added(client);
    await world.admin.query('delete from stored_parts where tenant_id = $1', [client.tenantId]);
    expect((await download(client, path)).statusCode).toBe(404);
  });
});
