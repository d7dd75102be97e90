import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { liveGenerations, type LiveGeneration } from '#domain/knowledge/embeddings/live-generations.ts';
import { partitionGeneration } from '#domain/knowledge/embeddings/partition-generation.ts';
import { bytesToFloats } from '#domain/knowledge/embeddings/quantise.ts';
import { nearestPassages } from '#domain/knowledge/search/nearest-passages.ts';
import { EmbeddingSpace } from '#test/support/embedding-space.ts';
import { findListsHere } from '#test/support/find-lists-here.ts';
import { openWorld, type KnowledgeWorld, type SpaceFixture } from '#test/support/knowledge-world.ts';
import { wordEmbedders, wordVector } from '#test/support/word-embedders.ts';

let world: KnowledgeWorld;
let space: EmbeddingSpace;
/** As many as the two batches of a slice hold, on some subjects. */
const passages = 1_200;
const subjects = 60;

const textOf = (n: number) => {
  const subject = n % subjects;
  return `subject${subject} matter${subject} field${subject} topic${subject} part${n} piece${n % 7}`;
};
const questions = Array.from({ length: 20 }, (_, n) => `subject${n * 3} matter${n * 3} piece${n % 7}`);

beforeAll(async () => {
  world = await openWorld();
  space = await EmbeddingSpace.create(world, wordEmbedders());
  await space.add(Array.from({ length: passages }, (_, n) => `# ${n}\n\n${textOf(n)}\n`).join('\n'));
  // As of a space that is divided into lists.
  await world.admin.query('update collections set chunk_count = 400000 where id = $1', [space.collectionId]);
});
afterAll(async () => world.stop());

const target = async (): Promise<LiveGeneration> => {
  const { tenantId, spaceId } = space.fixture;
  const [found] = await world.unitOfWork.inTenant(tenantId, (em) => liveGenerations(em, spaceId));
  return found!;
};
const partition = async (isOver: () => boolean, signal = new AbortController().signal) =>
  partitionGeneration({
    inTransaction: world.access(space.fixture).inTransaction,
    target: await target(),
    findLists: findListsHere,
    signal,
    isOver,
  });
const withoutList = async () => {
  const { rows } = await world.admin.query<{ n: number }>(
    'select count(*)::int4 as n from chunk_vectors where collection_id = $1 and list = 0',
    [space.collectionId],
  );
  return rows[0]!.n;
};
const listed = async () => {
  const { rows } = await world.admin.query<{ tenant_id: string; space_id: string }>(
    `select * from app.list_unembedded_spaces('00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000', 100)`,
  );
  return rows.some(({ space_id: id }) => id === space.fixture.spaceId);
};

async function nearest(question: string, listCount?: number, caller: SpaceFixture = space.fixture) {
  const { generation, model } = await target();
  const { hits } = await world.unitOfWork.inTenant(caller.tenantId, (em) =>
    nearestPassages(em, {
      tenantId: space.fixture.tenantId,
      embeddingId: generation.id,
      listCount: listCount ?? generation.listCount,
      graph: 0,
      mean: bytesToFloats(generation.mean),
      vector: wordVector(question, model.dims, model.providerModel),
      collectionIds: [space.collectionId],
      filter: {},
      reading: null,
      passages: 400_000,
      limit: 10,
    }),
  );
  return hits;
}

/** Share of the passages of a search of all lists that the search of the nearest ones finds. */
async function recall(): Promise<number> {
  let found = 0;
  for (const question of questions) {
    const all = await nearest(question, 0);
    const least = all.at(-1)!.cosine - 1e-6;
    found += (await nearest(question)).filter(({ cosine }) => cosine >= least).length;
  }
  return found / (10 * questions.length);
}

describe('lists of the vectors of a large space', () => {
  it('are built in slices that may be interrupted, while searches find what they found', async () => {
    expect(await listed()).toBe(true);
    const interrupted = new AbortController();
    interrupted.abort();
    await expect(partition(() => false, interrupted.signal)).rejects.toThrow();
    expect(await withoutList()).toBe(passages);
    expect(await partition(() => true)).toBe(false);
    const left = await withoutList();
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThan(passages);
    const { listCount, partitionedAt } = (await target()).generation;
    expect([listCount > 0, partitionedAt ?? null]).toEqual([true, null]);
    expect(await recall()).toBeGreaterThan(0.95);
    // Two workers at once, after the process with the first one was lost.
    expect(await Promise.all([partition(() => false), partition(() => false)])).toEqual([true, true]);
    expect(await withoutList()).toBe(0);
    expect(await listed()).toBe(false);
    expect((await target()).generation.listCount).toBe(listCount);
    expect(await recall()).toBeGreaterThan(0.95);
  });

  it('take the vectors of new documents, also of texts that have one', async () => {
    await space.add(`${textOf(3)} quite new`);
    await space.add(`# 5\n\n${textOf(5)}\n`);
    expect(await withoutList()).toBe(0);
    const [best] = await nearest(`${textOf(3)} quite new`);
    expect(best!.cosine).toBeGreaterThan(0.99);
  });

  it('are all read where the nearest ones hold too few passages of the searched collections', async () => {
    await world.admin.query('update chunk_vectors set list = 512 where collection_id = $1', [
      space.collectionId,
    ]);
    for (const question of questions) {
      expect(await nearest(question)).toHaveLength(10);
    }
  });

  it('show another tenant nothing', async () => {
    const other = await world.addSpace();
    expect(await nearest(questions[0]!, undefined, other)).toEqual([]);
  });
});
