import { newId } from '#domain/foundation/kernel/ids.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { finishIngestion } from '#domain/knowledge/ingestion/finish-ingestion.ts';
import { reindexSlice } from '#domain/knowledge/ingestion/reindex-slice.ts';
import { storePassages } from '#domain/knowledge/ingestion/store-passages.ts';
import { openKnowledgeGateway, type Client, type KnowledgeGateway } from '#test/support/knowledge-gateway.ts';

let gateway: KnowledgeGateway;

beforeAll(async () => {
  gateway = await openKnowledgeGateway();
});
afterAll(async () => gateway.stop());

const content = { filename: 'a.txt', media_type: 'text/plain', content: 'Die Häuser stehen.' };

async function addDocument(client: Client, collection: string): Promise<string> {
  return (await gateway.call(client, 'POST', `/${collection}/documents`, content)).body.data.id as string;
}

/** What a worker does with the document. */
async function read(client: Client, id: string, texts = ['Die Häuser', 'stehen.']): Promise<void> {
  await gateway.world.unitOfWork.inTenant(client.tenantId, async (em) => {
    const passages = texts.map((text, n) => ({
      heading: 'H',
      text,
      start: n * 11,
      end: n * 11 + text.length,
      page: null,
      anchor: null,
    }));
    await storePassages(em, { documentId: id, readingId: newId(), chunks: passages });
    await finishIngestion(em, id, null);
  });
}

const lastEvent = async ({ tenantId }: Client) =>
  (
    await gateway.world.admin.query(
      'select event_type, metadata from events where tenant_id = $1 order by id desc limit 1',
      [tenantId],
    )
  ).rows[0];

describe('PATCH …/collections/{collection_id}', () => {
  it('changes what is given, and records the fields that changed', async () => {
    const client = await gateway.join();
    const id = await gateway.addCollection(client, 'A');
    const changed = await gateway.call(client, 'PATCH', `/${id}`, { name: ' B ', description: 'Ports' });
    expect(changed).toMatchObject({ status: 200, body: { data: { name: 'B', description: 'Ports' } } });
    expect(await lastEvent(client)).toMatchObject({
      event_type: 'collection.updated',
      metadata: { changed_fields: ['name', 'description'] },
    });
    const again = await gateway.call(client, 'PATCH', `/${id}`, { description: null });
    expect(again.body.data).toMatchObject({ name: 'B', description: null });
    const count = async () =>
      (await gateway.world.admin.query('select from events where tenant_id = $1', [client.tenantId]))
        .rowCount;
    const before = await count();
    await gateway.call(client, 'PATCH', `/${id}`, { name: 'B' });
    expect(await count()).toBe(before);
  });

  it('changes whether the readers of sources are enforced, and records it', async () => {
    const client = await gateway.join();
    const id = await gateway.addCollection(client);
    expect((await gateway.call(client, 'GET', `/${id}`)).body.data.enforce_source_readers).toBe(false);
    const changed = await gateway.call(client, 'PATCH', `/${id}`, { enforce_source_readers: true });
    expect(changed.body.data.enforce_source_readers).toBe(true);
    expect(await lastEvent(client)).toMatchObject({
      event_type: 'collection.updated',
      metadata: { changed_fields: ['enforce_source_readers'], enforce_source_readers: true },
    });
    const renamed = await gateway.call(client, 'PATCH', `/${id}`, { name: 'B' });
    expect(renamed.body.data.enforce_source_readers).toBe(true);
    const made = await gateway.call(client, 'POST', '', { name: 'C', enforce_source_readers: true });
    expect(made).toMatchObject({ status: 201, body: { data: { enforce_source_readers: true } } });
  });

  it('leaves uploads visible where they are enforced', async () => {
    const client = await gateway.join();
    const id = await gateway.addCollection(client);
    const document = await addDocument(client, id);
    await gateway.call(client, 'PATCH', `/${id}`, { enforce_source_readers: true });
    const list = await gateway.call(client, 'GET', `/${id}/documents`);
    expect((list.body.data as { id: string }[]).map((each) => each.id)).toEqual([document]);
  });

  it.each([
    [{ enforce_source_readers: 'yes' }, 'enforce_source_readers'],
    [{ name: '' }, 'name'],
    [{ text_search_config: 'klingon' }, 'text_search_config'],
    [{ colour: 'red' }, 'colour'],
  ])('answers 422 for %j', async (body, param) => {
    const client = await gateway.join();
    const id = await gateway.addCollection(client);
    const refused = await gateway.call(client, 'PATCH', `/${id}`, body);
    expect(refused.status).toBe(422);
    expect(JSON.stringify(refused.body.error)).toContain(param);
  });

  it('needs its permission', async () => {
    const client = await gateway.join();
    const id = await gateway.addCollection(client);
    const viewer = await gateway.join('space_viewer', client);
    expect(await gateway.call(viewer, 'PATCH', `/${id}`, { name: 'B' })).toMatchObject({
      status: 403,
      body: { error: { missing_permission: 'collections.update' } },
    });
  });

  it('changes the language while documents are read, and shows how far the change is', async () => {
    const client = await gateway.join();
    const id = await gateway.addCollection(client);
    const document = await addDocument(client, id);
    await read(client, document);
    const unread = await addDocument(client, id);
    const change = async () =>
      (await gateway.call(client, 'GET', `/${id}`)).body.data.statistics.language_change;
    expect(await change()).toBeNull();
    const patched = await gateway.call(client, 'PATCH', `/${id}`, { text_search_config: 'german' });
    expect(patched).toMatchObject({ status: 200, body: { data: { text_search_config: 'german' } } });
    expect(await lastEvent(client)).toMatchObject({
      event_type: 'collection.updated',
      metadata: { changed_fields: ['text_search_config'], text_search_config: 'german' },
    });
    await read(client, unread);
    expect(await change()).toEqual({
      former: ['english'],
      chunks_done: 0,
      chunks_total: 2,
      started_at: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    await gateway.call(client, 'PATCH', `/${id}`, { text_search_config: 'french' });
    expect((await change()).former.toSorted()).toEqual(['english', 'german']);
    const slice = () =>
      gateway.world.unitOfWork.inTenant(client.tenantId, (em) =>
        reindexSlice(em, { tenantId: client.tenantId, collectionId: id }),
      );
    await slice();
    expect(await change()).toMatchObject({ chunks_done: 4, chunks_total: 4 });
    await slice();
    expect(await change()).toBeNull();
  });
});

describe('GET …/collections/{collection_id}', () => {
  it('counts documents by state, passages and bytes', async () => {
    const client = await gateway.join();
    const id = await gateway.addCollection(client);
    await read(client, await addDocument(client, id));
    await addDocument(client, id);
    const failed = await addDocument(client, id);
    await gateway.world.unitOfWork.inTenant(client.tenantId, (em) =>
      finishIngestion(em, failed, 'extraction_failed'),
    );
    const { body } = await gateway.call(client, 'GET', `/${id}`);
    expect(body.data.statistics).toMatchObject({ chunks: 2, bytes: 57, complete: true });
    expect(body.data.statistics.documents).toEqual({ total: 3, processing: 1, ready: 1, failed: 1 });
  });
});

describe('GET …/documents/{document_id}/passages', () => {
  it('pages in the order of the document', async () => {
    const client = await gateway.join();
    const id = await gateway.addCollection(client);
    const path = `/${id}/documents/${await addDocument(client, id)}`;
    expect((await gateway.call(client, 'GET', `${path}/passages`)).body.data).toEqual([]);
    await read(client, path.split('/').at(-1)!, ['A', 'B', 'C']);
    const first = await gateway.call(client, 'GET', `${path}/passages?limit=2`);
    expect(first.body.data).toEqual([
      { position: 0, heading: 'H', text: 'A', start: 0, end: 1, page: null, anchor: null },
      { position: 1, heading: 'H', text: 'B', start: 11, end: 12, page: null, anchor: null },
    ]);
    const cursor = first.body.meta.next_cursor as string;
    const second = await gateway.call(client, 'GET', `${path}/passages?limit=2&cursor=${cursor}`);
    expect(second.body).toMatchObject({ data: [{ position: 2, text: 'C' }], meta: { has_more: false } });
  });
});
