import { afterAll, beforeAll, expect, it } from 'vitest';
import { searchKnowledge } from '#domain/knowledge/search/search-knowledge.ts';
import { EmbeddingSpace } from '#test/support/embedding-space.ts';
import { openWorld, type KnowledgeWorld } from '#test/support/knowledge-world.ts';
import { wordEmbedders } from '#test/support/word-embedders.ts';

let world: KnowledgeWorld;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.stop());

/** A space whose collection enforces the readers of its source. */
async function enforcingSpace() {
  const space = await EmbeddingSpace.create(world, wordEmbedders());
  await world.admin.query('update collections set enforce_source_readers = true where id = $1', [
    space.collectionId,
  ]);
  const readers = (documentId: string, to: string) =>
    world.admin.query('update documents set source_readers = $2 where id = $1', [documentId, to]);
  return { space, readers };
}

const question = 'the beacon is blue';

it.each([0, 1])(
  'a search with an alpha of %d finds what may be read behind any number of better passages that may not',
  async (alpha) => {
    const { space, readers } = await enforcingSpace();
    // More than a search ranks.
    const better = Array.from({ length: 250 }, (_, n) => `# ${n}\n\n${question}\n`);
    await readers(await space.add(better.join('\n')), '{}');
    const text = 'one beacon among quite different words';
    await readers(await space.add(text), '{public}');
    expect((await space.search(question, alpha)).passages).toMatchObject([{ text }]);
  },
);

it.each([0, 0.75])(
  'a search with an alpha of %d shows nothing that may no longer be read when its passages are',
  async (alpha) => {
    const { space, readers } = await enforcingSpace();
    const documentId = await space.add(question);
    await readers(documentId, '{public}');
    const { spaceId } = space.fixture;
    const access = world.access(space.fixture, space.embedders);
    const search = (inTransaction = access.inTransaction) =>
      searchKnowledge(
        { ...access, inTransaction },
        { spaceId, collectionIds: null, query: question, limit: 5, alpha },
      );
    expect((await search()).passages).toHaveLength(1);
    const closed = await search((work) =>
      access.inTransaction((em) => {
        const execute = em.execute.bind(em);
        em.execute = (async (sql: string, ...given: unknown[]) => {
          // By another session, after the searches.
          if (sql.includes('c.start_offset')) await readers(documentId, '{}');
          return execute(sql, ...(given as []));
        }) as typeof execute;
        return work(em);
      }),
    );
    expect(closed.passages).toEqual([]);
  },
);
