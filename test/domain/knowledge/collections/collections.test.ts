import type { EntityManager } from '@mikro-orm/postgresql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Context } from '#domain/foundation/access/context.ts';
import { collectionStatistics } from '#domain/knowledge/collections/collection-statistics.ts';
import { createCollection } from '#domain/knowledge/collections/create-collection.ts';
import { deleteCollection } from '#domain/knowledge/collections/delete-collection.ts';
import { deleteDocument } from '#domain/knowledge/collections/delete-document.ts';
import { listCollections } from '#domain/knowledge/collections/list-collections.ts';
import { listDocuments } from '#domain/knowledge/collections/list-documents.ts';
import { readDocument } from '#domain/knowledge/collections/read-document.ts';
import { uploadDocument } from '#domain/knowledge/collections/upload-document.ts';
import { finishIngestion } from '#domain/knowledge/ingestion/finish-ingestion.ts';
import { storePassages } from '#domain/knowledge/ingestion/store-passages.ts';
import { openWorld, type KnowledgeWorld, type SpaceFixture } from '#test/support/knowledge-world.ts';

let world: KnowledgeWorld;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(async () => world.stop());

const addCollection = async (space: SpaceFixture, name = 'Harbours') =>
  (await world.act(space, (ctx) => createCollection(ctx, { name }))).collection;

const addDocument = async (space: SpaceFixture, collectionId: string, content = 'Some text.') =>
  (
    await world.act(space, (ctx) =>
      uploadDocument(ctx, { collectionId, filename: 'a.txt', mediaType: 'text/plain', content }),
    )
  ).document;

const events = async (space: SpaceFixture) => {
  const { rows } = await world.admin.query(
    'select event_type, resource_id, metadata from events where tenant_id = $1 order by id',
    [space.tenantId],
  );
  return rows as { event_type: string; resource_id: string; metadata: Record<string, unknown> }[];
};

describe('createCollection', () => {
  it('stores the collection with English as its text search configuration and records the event', async () => {
    const space = await world.addSpace();
    const collection = await addCollection(space, '  Harbours ');
    expect(collection).toMatchObject({ name: 'Harbours', textSearchConfig: 'english', description: null });
    expect(collection.createdAt).toBeInstanceOf(Date);
    expect(await events(space)).toMatchObject([
      { event_type: 'collection.created', resource_id: collection.id },
    ]);
  });

  it('refuses a text search configuration that PostgreSQL does not have', async () => {
    const space = await world.addSpace();
    const made = world.act(space, (ctx) => createCollection(ctx, { name: 'A', textSearchConfig: `x'; --` }));
    await expect(made).rejects.toMatchObject({
      code: 'invalid_request',
      detail: { param: 'text_search_config' },
    });
  });

  it.each(['', '   ', 'x'.repeat(201)])('refuses the name %j', async (name) => {
    const space = await world.addSpace();
    await expect(addCollection(space, name)).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it('answers a repeated key with the first collection and makes no second', async () => {
    const space = await world.addSpace();
    const idempotency = { key: 'k1', scope: 'POST collections', fingerprint: 'f1' };
    const make = () => world.act(space, (ctx) => createCollection(ctx, { name: 'Once', idempotency }));
    const first = await make();
    const second = await make();
    expect([first.replayed, second.replayed]).toEqual([false, true]);
    expect(second.collection.id).toBe(first.collection.id);
    const page = await world.act(space, (ctx) => listCollections(ctx, { limit: 10, cursor: null }));
    expect(page.items).toHaveLength(1);
  });

  it('refuses a caller without the permission and names it', async () => {
    const space = await world.addSpace();
    const made = world.act(space, (ctx) => createCollection(ctx, { name: 'A' }), ['collections.read']);
    await expect(made).rejects.toMatchObject({ detail: { missingPermission: 'collections.create' } });
  });
});

describe('listCollections', () => {
  it('pages through rows of one instant without losing or repeating a row', async () => {
    const space = await world.addSpace();
    const ids = await world.act(space, async (ctx) => {
      const made = [];
      for (let n = 0; n < 7; n += 1) {
        made.push((await createCollection(ctx, { name: `C${n}` })).collection.id);
      }
      return made;
    });
    await world.admin.query(
      `update collections set created_at = '2026-01-01 10:00:00.123'::timestamptz + (right(name, 1)::int / 2) * interval '1 microsecond'
       where space_id = $1`,
      [space.spaceId],
    );
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page = await world.act(space, (ctx) => listCollections(ctx, { limit: 2, cursor }));
      seen.push(...page.items.map(({ id }) => id));
      cursor = page.nextCursor;
    } while (cursor !== null);
    expect(seen).toEqual(ids.toReversed());
  });

  it('refuses a cursor of another space', async () => {
    const space = await world.addSpace();
    const other = await world.addSpace(space.tenantId);
    await addCollection(space);
    await addCollection(space);
    const page = await world.act(space, (ctx) => listCollections(ctx, { limit: 1, cursor: null }));
    const elsewhere = world.act(other, (ctx) => listCollections(ctx, { limit: 1, cursor: page.nextCursor }));
    await expect(elsewhere).rejects.toMatchObject({ code: 'invalid_cursor' });
  });

  it('shows nothing of another tenant or of another space', async () => {
    const space = await world.addSpace();
    await addCollection(space);
    for (const other of [await world.addSpace(), await world.addSpace(space.tenantId)]) {
      const page = await world.act(other, (ctx) => listCollections(ctx, { limit: 10, cursor: null }));
      expect(page).toEqual({ items: [], nextCursor: null });
    }
  });
});

describe('uploadDocument', () => {
  it('stores the document as processing and enqueues its extraction', async () => {
    const space = await world.addSpace();
    const collection = await addCollection(space);
    const document = await addDocument(space, collection.id, 'A \0 and \ud800 are replaced.');
    expect(document).toMatchObject({ status: 'processing', chunkCount: 0 });
    expect(world.dispatches.at(-1)).toMatchObject({
      kind: 'start',
      workflowType: 'ingestDocument',
      workflowId: `document/${space.tenantId}/${document.id}`,
      payload: { tenantId: space.tenantId, documentId: document.id },
    });
    const stored = await world.admin.query(
      `select convert_from(p.bytes, 'UTF8') as content from documents d
       join stored_parts p on p.tenant_id = d.tenant_id and p.key = d.content_key where d.id = $1`,
      [document.id],
    );
    expect(stored.rows).toEqual([{ content: 'A \ufffd and \ufffd are replaced.' }]);
    const pending = await world.admin.query('select payload from outbox where tenant_id = $1', [
      space.tenantId,
    ]);
    expect(pending.rows).toEqual([{ payload: { tenantId: space.tenantId, documentId: document.id } }]);
  });

  it('records the filename in the event and nothing of the content', async () => {
    const space = await world.addSpace();
    const collection = await addCollection(space);
    await addDocument(space, collection.id, 'canary-4711');
    const recorded = await events(space);
    expect(recorded.at(-1)).toMatchObject({
      event_type: 'collection.documents_added',
      metadata: { count: 1, filename: 'a.txt' },
    });
    expect(JSON.stringify(recorded)).not.toContain('canary');
  });

  it('refuses content of more than one mebibyte in UTF-8, and blank content', async () => {
    const space = await world.addSpace();
    const { id } = await addCollection(space);
    const big = addDocument(space, id, 'ä'.repeat(524_289));
    await expect(big).rejects.toMatchObject({ code: 'invalid_request', detail: { param: 'content' } });
    await expect(addDocument(space, id, ' \n ')).rejects.toMatchObject({ detail: { param: 'content' } });
    expect((await addDocument(space, id, 'ä'.repeat(524_288))).byteSize).toBe(1_048_576);
  });

  it('refuses a document while five hundred of the tenant are pending, and accepts it after one was read', async () => {
    const space = await world.addSpace();
    const { id } = await addCollection(space);
    const first = await addDocument(space, id);
    await world.admin.query(
      `insert into documents (tenant_id, id, collection_id, filename, media_type, content_key, content_hash, byte_size, created_by)
       select tenant_id, uuidv7(), collection_id, filename, media_type, content_key, content_hash, byte_size, created_by
       from documents, generate_series(2, 500) where id = $1`,
      [first.id],
    );
    await expect(addDocument(space, id)).rejects.toMatchObject({
      code: 'rate_limited',
      detail: { retryAfter: 15 },
    });
    const other = await world.addSpace();
    await addDocument(other, (await addCollection(other)).id);
    await world.admin.query(`update documents set status = 'ready' where id = $1`, [first.id]);
    expect((await addDocument(space, id)).status).toBe('processing');
  });

  it('answers a repeated key with the first document', async () => {
    const space = await world.addSpace();
    const { id: collectionId } = await addCollection(space);
    const upload = () =>
      world.act(space, (ctx) =>
        uploadDocument(ctx, {
          collectionId,
          filename: 'a.md',
          mediaType: 'text/markdown',
          content: '# A',
          idempotency: { key: 'up', scope: `POST ${collectionId}/documents`, fingerprint: 'f2' },
        }),
      );
    const first = await upload();
    const second = await upload();
    expect(second).toMatchObject({ replayed: true, document: { id: first.document.id } });
  });

  it.each(['another tenant', 'another space'])('answers 404 for a collection of %s', async (whose) => {
    const space = await world.addSpace();
    const { id } = await addCollection(space);
    const other = await world.addSpace(whose === 'another space' ? space.tenantId : undefined);
    await expect(addDocument(other, id)).rejects.toMatchObject({ code: 'collection_not_found' });
    await expect(addDocument(space, 'not-a-uuid')).rejects.toMatchObject({ code: 'collection_not_found' });
  });
});

describe('readDocument and listDocuments', () => {
  it('answer the document', async () => {
    const space = await world.addSpace();
    const { id: collectionId } = await addCollection(space);
    const { id: documentId } = await addDocument(space, collectionId);
    const read = await world.act(space, (ctx) => readDocument(ctx, { collectionId, documentId }));
    expect(read).toMatchObject({ id: documentId, filename: 'a.txt' });
    const page = await world.act(space, (ctx) =>
      listDocuments(ctx, { collectionId, limit: 5, cursor: null }),
    );
    expect(page.items.map(({ id }) => id)).toEqual([documentId]);
  });

  it('do not find a document through a collection that it is not in', async () => {
    const space = await world.addSpace();
    const [one, two] = [await addCollection(space), await addCollection(space)];
    const { id: documentId } = await addDocument(space, one.id);
    const read = world.act(space, (ctx) => readDocument(ctx, { collectionId: two.id, documentId }));
    await expect(read).rejects.toMatchObject({ code: 'document_not_found' });
  });
});

describe('deleteDocument and deleteCollection', () => {
  it('remove the document and record it', async () => {
    const space = await world.addSpace();
    const { id: collectionId } = await addCollection(space);
    const { id: documentId } = await addDocument(space, collectionId);
    await world.act(space, (ctx) => deleteDocument(ctx, { collectionId, documentId }));
    const read = world.act(space, (ctx) => readDocument(ctx, { collectionId, documentId }));
    await expect(read).rejects.toMatchObject({ code: 'document_not_found' });
    expect((await events(space)).at(-1)).toMatchObject({
      event_type: 'collection.documents_deleted',
      metadata: { count: 1, document_id: documentId },
    });
  });

  it('put a collection out of sight of everybody at once, and have its rows erased', async () => {
    const space = await world.addSpace();
    const { id: collectionId } = await addCollection(space);
    const { id: documentId } = await addDocument(space, collectionId);
    await world.act(space, (ctx) => deleteCollection(ctx, { collectionId }));
    for (const use of [
      (ctx: Context) => deleteCollection(ctx, { collectionId }),
      (ctx: Context) => readDocument(ctx, { collectionId, documentId }),
      (ctx: Context) => listDocuments(ctx, { collectionId, limit: 5, cursor: null }),
    ]) {
      await expect(world.act<unknown>(space, use)).rejects.toMatchObject({ code: 'collection_not_found' });
    }
    await expect(addDocument(space, collectionId)).rejects.toMatchObject({ code: 'collection_not_found' });
    const page = await world.act(space, (ctx) => listCollections(ctx, { limit: 10, cursor: null }));
    expect(page.items).toEqual([]);
    const seen = await world.unitOfWork.inTenant(space.tenantId, async (em) => [
      await em.execute('select id from collections where id = ?', [collectionId]),
      await storePassages(em, { documentId, readingId: 'r', chunks: [] }),
      await finishIngestion(em, documentId, null),
    ]);
    expect(seen).toMatchObject([[], null, { status: 'gone' }]);
    expect(world.dispatches.at(-1)).toMatchObject({
      kind: 'start',
      workflowId: `erasure/${space.tenantId}/collection/${collectionId}`,
      payload: { tenantId: space.tenantId, rootType: 'collection', rootId: collectionId },
    });
    expect((await events(space)).at(-1)).toMatchObject({
      event_type: 'collection.deleted',
      metadata: { documents: 1 },
    });
  });
});

describe('collectionStatistics', () => {
  it('counts the documents of a collection in an index, without their rows', async () => {
    const space = await world.addSpace();
    const collection = await addCollection(space);
    await addDocument(space, collection.id);
    await world.admin.query('vacuum analyze documents');
    const plan = await world.unitOfWork.inTenant(space.tenantId, async (em) => {
      // A table of a few rows is read as a whole.
      await em.execute('set local enable_seqscan = off');
      const plans: object[] = [];
      const execute = async (sql: string, values: unknown[]) => {
        plans.push(await em.execute(`explain (format json) ${sql}`, values));
        return [];
      };
      await collectionStatistics({ execute } as unknown as EntityManager, collection);
      return JSON.stringify(plans);
    });
    expect(plan).toContain('"Node Type":"Index Only Scan"');
    expect(plan).toContain('"Index Name":"documents_statistics"');
  });
});
