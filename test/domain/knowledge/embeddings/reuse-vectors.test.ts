import { afterAll, beforeAll, expect, it } from 'vitest';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { storePassages } from '#domain/knowledge/ingestion/store-passages.ts';
import { EmbeddingSpace } from '#test/support/embedding-space.ts';
import { openWorld, type KnowledgeWorld } from '#test/support/knowledge-world.ts';
import { wordEmbedders } from '#test/support/word-embedders.ts';

let world: KnowledgeWorld;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.stop());

it('a passage takes the vector of a document that has its text, though another document had it before', async () => {
  const embedders = wordEmbedders();
  const space = await EmbeddingSpace.create(world, embedders);
  const documentId = await space.add('The beacon is blue.');
  await space.add('The beacon is blue.');
  await world.admin.query(`update documents set status = 'processing' where id = $1`, [documentId]);
  const text = 'The quay is long.';
  const chunk = { heading: null, text, start: 0, end: text.length, page: null, anchor: null };
  await world.unitOfWork.inTenant(space.fixture.tenantId, (em) =>
    storePassages(em, { documentId, readingId: newId(), chunks: [chunk] }),
  );
  embedders.passages.length = 0;
  await space.add('The beacon is blue.');
  expect(embedders.passages).toEqual([]);
});
