import { afterAll, beforeAll, expect, it } from 'vitest';
import { forgetDocuments } from '#domain/knowledge/synchronisation/forget-documents.ts';
import { germanCollection } from '#test/support/changed-language.ts';
import { openWorld, type KnowledgeWorld } from '#test/support/knowledge-world.ts';
import { connect } from '#test/support/tables.ts';

let world: KnowledgeWorld;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(async () => world.stop());

it('documents are locked in the order of their ids before they are deleted', async () => {
  const collection = await germanCollection(world);
  const { tenantId } = collection.space;
  const original = await collection.add(2);
  // Their ids are random: the order of the table is another.
  await collection.copy(original, 30);
  const { rows } = await world.admin.query<{ id: string }>(
    'select id from documents where collection_id = $1 and id <> $2 order by id desc',
    [collection.collectionId, original],
  );
  const ids = rows.map(({ id }) => id);
  const holder = await connect(world.database.adminUrl);
  await holder.query('begin');
  await holder.query('select from documents where id = $1 for update', [ids.at(-1)]);
  const forgotten = world.unitOfWork.inTenant(tenantId, (em) => forgetDocuments(em, tenantId, ids));
  await expect
    .poll(async () => {
      const waiting = await world.admin.query(
        `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
      );
      return waiting.rowCount;
    })
    .toBe(1);
  const { rowCount: free } = await world.admin.query(
    'select from documents where id = any($1) for update skip locked',
    [ids],
  );
  expect(free).toBe(ids.length - 1);
  await holder.query('rollback');
  await holder.end();
  expect(await forgotten).toBe(30);
  expect(await collection.languages()).toEqual({ english: 2 });
});
