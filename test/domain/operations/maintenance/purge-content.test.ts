import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { PostgresByteStore } from '#domain/foundation/bytes/postgres-byte-store.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { createCollection } from '#domain/knowledge/collections/create-collection.ts';
import { deleteCollection } from '#domain/knowledge/collections/delete-collection.ts';
import { deleteDocument } from '#domain/knowledge/collections/delete-document.ts';
import { contentLimits } from '#domain/knowledge/collections/collection-limits.ts';
import { uploadContent } from '#domain/knowledge/collections/upload-content.ts';
import { uploadDocument } from '#domain/knowledge/collections/upload-document.ts';
import { eraseScope } from '#domain/operations/scope-erasure/erase-scope.ts';
import { sweeps } from '#domain/operations/maintenance/sweeps.ts';
import { openWorld, type KnowledgeWorld, type SpaceFixture } from '#test/support/knowledge-world.ts';
import { Purge } from '../../../support/purge.ts';
import { sweepOnce } from '../../../support/sweeps.ts';
import { connect } from '../../../support/tables.ts';

let world: KnowledgeWorld;
let purge: Purge;

beforeAll(async () => {
  world = await openWorld();
  purge = new Purge(world.database);
});
afterAll(async () => {
  await purge?.close();
  await world?.stop();
});

const sweep = () => sweepOnce(sweeps.purgeContent.sweep, { ...world.database, purge });

async function aCollection() {
  const space = await world.addSpace();
  const { collection } = await world.act(space, (ctx) => createCollection(ctx, { name: 'C' }));
  return { space, collectionId: collection.id };
}

const upload = async (space: SpaceFixture, collectionId: string, content: string) =>
  (
    await world.act(space, (ctx) =>
      uploadDocument(ctx, { collectionId, filename: 'a.txt', mediaType: 'text/plain', content }),
    )
  ).document;

const partsOf = async ({ tenantId }: SpaceFixture) =>
  (await world.admin.query('select from stored_parts where tenant_id = $1', [tenantId])).rowCount;

describe('the purge of content', () => {
  it('deletes the bytes of a deleted document', async () => {
    const { space, collectionId } = await aCollection();
    const { id: documentId } = await upload(space, collectionId, 'x'.repeat(600_000));
    expect(await sweep()).toMatchObject({ done: 0 });
    expect(await partsOf(space)).toBe(3);
    await world.act(space, (ctx) => deleteDocument(ctx, { collectionId, documentId }));
    expect(await sweep()).toMatchObject({ done: 1, failed: 0, next: null });
    expect(await partsOf(space)).toBe(0);
  });

  it('deletes the bytes of a file as soon as its document is deleted', async () => {
    const { space, collectionId } = await aCollection();
    const source = (async function* () {
      yield Buffer.from('x'.repeat(600_000));
    })();
    const { document } = await uploadContent((work) => world.act(space, work), {
      collectionId,
      source,
      describe: async () => ({ filename: 'a.txt', declared: undefined, metadata: {} }),
      limits: contentLimits,
      idempotency: null,
    });
    expect(await partsOf(space)).toBe(3);
    await world.act(space, (ctx) => deleteDocument(ctx, { collectionId, documentId: document.id }));
    expect(await sweep()).toMatchObject({ done: 1, failed: 0 });
    expect(await partsOf(space)).toBe(0);
  });

  it('deletes bytes with the last document that has them', async () => {
    const { space, collectionId } = await aCollection();
    const [one, two] = [
      await upload(space, collectionId, 'Equal.'),
      await upload(space, collectionId, 'Equal.'),
    ];
    expect(two.contentKey).toBe(one.contentKey);
    await world.act(space, (ctx) => deleteDocument(ctx, { collectionId, documentId: one.id }));
    expect(await sweep()).toMatchObject({ done: 0 });
    expect(await partsOf(space)).toBe(1);
    await world.act(space, (ctx) => deleteDocument(ctx, { collectionId, documentId: two.id }));
    expect(await sweep()).toMatchObject({ done: 1 });
    expect(await partsOf(space)).toBe(0);
  });

  it('deletes those of a deleted collection, and leaves the same bytes of another tenant', async () => {
    const [mine, theirs] = [await aCollection(), await aCollection()];
    await upload(mine.space, mine.collectionId, 'Equal.');
    await upload(theirs.space, theirs.collectionId, 'Equal.');
    await world.act(mine.space, (ctx) => deleteCollection(ctx, mine));
    expect(await sweep()).toMatchObject({ done: 0 });
    const { tenantId } = mine.space;
    const scope = { tenantId, rootType: 'collection', rootId: mine.collectionId } as const;
    await eraseScope(purge, scope, { mayGoOn: () => true, erased: () => {} });
    expect(await sweep()).toMatchObject({ done: 1 });
    expect([await partsOf(mine.space), await partsOf(theirs.space)]).toEqual([0, 1]);
  });

  it('leaves bytes that are uploaded again before it comes', async () => {
    const { space, collectionId } = await aCollection();
    const { id: documentId } = await upload(space, collectionId, 'Equal.');
    await world.act(space, (ctx) => deleteDocument(ctx, { collectionId, documentId }));
    await upload(space, collectionId, 'Equal.');
    expect(await sweep()).toMatchObject({ done: 0, failed: 0 });
    expect(await partsOf(space)).toBe(1);
  });

  it('leaves bytes of a stream for an hour until something refers to them, and deletes them then', async () => {
    const { space } = await aCollection();
    const store = PostgresByteStore.inSteps(space.tenantId, (step) =>
      world.unitOfWork.inTenant(space.tenantId, step),
    );
    await store.put([randomBytes(10)], { purpose: 'documents', maxBytes: 10 });
    await sweep();
    expect(await partsOf(space)).toBe(1);
    await world.admin.query(
      `update stored_objects set purge_after = purge_after - interval '61 minutes' where tenant_id = $1`,
      [space.tenantId],
    );
    expect(await sweep()).toMatchObject({ done: 1 });
    expect(await partsOf(space)).toBe(0);
  });
});

it('a deletion locks shared contents in the order of their keys, so that two at once do not deadlock', async () => {
  const { space, collectionId } = await aCollection();
  const { tenantId, principalId } = space;
  const keys = Array.from({ length: 20 }, (_, n) => `documents/${String(n).padStart(2, '0')}`);
  for (const key of keys.toReversed()) {
    await world.admin.query(
      'insert into stored_objects (tenant_id, key, sha256, byte_size) values ($1, $2, $2, 1)',
      [tenantId, key],
    );
    await world.admin.query(
      `insert into documents (tenant_id, id, collection_id, filename, media_type, content_key, content_hash, byte_size, created_by)
       values ($1, $2, $3, 'a', 'text/plain', $4, $4, 1, $5)`,
      [tenantId, newId(), collectionId, key, principalId],
    );
  }
  const other = await connect(world.database.adminUrl);
  try {
    await other.query('begin');
    await other.query('select from stored_objects where tenant_id = $1 and key = $2 for update', [
      tenantId,
      keys[0],
    ]);
    const deletion = world.unitOfWork.inTenant(tenantId, (em) =>
      em.execute('delete from documents where collection_id = ?', [collectionId]),
    );
    await vi.waitFor(async () => {
      const waiting = await world.admin.query(
        `select from pg_locks l join pg_stat_activity a on a.pid = l.pid
         where a.datname = current_database() and not l.granted`,
      );
      expect(waiting.rowCount).toBe(1);
    });
    const free = await world.admin.query(
      'select key from stored_objects where tenant_id = $1 for update skip locked',
      [tenantId],
    );
    await other.query('rollback');
    await deletion;
    expect(free.rows.map(({ key }) => key as string).toSorted()).toEqual(keys.slice(1));
  } finally {
    await other.end();
  }
});
