import { afterAll, beforeAll, expect, it } from 'vitest';
import { createCollection } from '#domain/knowledge/collections/create-collection.ts';
import type { KnowledgeQuery } from '#domain/knowledge/search/knowledge-query.ts';
import { searchKnowledge } from '#domain/knowledge/search/search-knowledge.ts';
import { EmbeddingSpace } from '#test/support/embedding-space.ts';
import { ingest } from '#test/support/ingest.ts';
import { openWorld, type KnowledgeWorld } from '#test/support/knowledge-world.ts';
import { wordEmbedders } from '#test/support/word-embedders.ts';

let world: KnowledgeWorld;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.stop());

/** A space with an embedded document and a pending one. */
async function spaceWithPending() {
  const space = await EmbeddingSpace.create(world, wordEmbedders());
  await space.add('The beacon is blue.');
  const waiting = await space.upload('The quay is long.');
  const { unitOfWork } = world;
  await ingest({ unitOfWork }, { tenantId: space.fixture.tenantId, documentId: waiting });
  const search = async (rest: Partial<KnowledgeQuery> = {}) => {
    const { spaceId } = space.fixture;
    const asked = { spaceId, collectionIds: null, query: 'The quay is long.', limit: 5, alpha: 1 };
    const answer = await searchKnowledge(world.access(space.fixture, space.embedders), { ...asked, ...rest });
    const { mode, reason, passages } = answer;
    return { mode, reason, texts: passages.map(({ text }) => text) };
  };
  return { space, waiting, search };
}

it('a search by meaning says that passages wait for their vectors, until they have them', async () => {
  const { space, search } = await spaceWithPending();
  const partial = { mode: 'hybrid', reason: 'not_embedded' };
  expect(await search()).toEqual({ ...partial, texts: ['The beacon is blue.'] });
  expect(await search({ alpha: 0.75 })).toMatchObject(partial);
  await space.embedAll();
  expect(await search()).toMatchObject({
    mode: 'hybrid',
    reason: null,
    texts: ['The quay is long.', 'The beacon is blue.'],
  });
});

it('finds a passage that waits for its vector by its words before passages that are merely near', async () => {
  const { space, search } = await spaceWithPending();
  for (const text of ['The quay is short.', 'The quay is old.', 'The long quay wall.']) await space.add(text);
  const [first] = (await search({ alpha: 0.75 })).texts;
  expect(first).toBe('The quay is long.');
});

it('says nothing of documents that it does not search', async () => {
  const { space, waiting, search } = await spaceWithPending();
  const all = { mode: 'hybrid', reason: null };
  const { collection } = await world.act(space.fixture, (ctx) => createCollection(ctx, { name: 'D' }));
  expect(await search({ collectionIds: [collection.id] })).toMatchObject(all);
  expect(await search({ filter: { metadata: { lang: 'en' } } })).toMatchObject(all);
  await world.admin.query(`update documents set source_readers = '{}' where id = $1`, [waiting]);
  expect(await search()).toMatchObject({ reason: 'not_embedded' });
  await world.admin.query('update collections set enforce_source_readers = true where id = $1', [
    space.collectionId,
  ]);
  expect(await search()).toMatchObject(all);
});

it('says nothing of a document of which all vectors are there, though its workflow has not ended', async () => {
  const { space, waiting, search } = await spaceWithPending();
  await space.embedAll();
  await world.admin.query('update documents set embedding_pending = true where id = $1', [waiting]);
  expect(await search()).toMatchObject({ mode: 'hybrid', reason: null });
});
