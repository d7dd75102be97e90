import { afterAll, beforeAll, expect, it } from 'vitest';
import { activateGeneration } from '#domain/knowledge/embeddings/activate-generation.ts';
import { embedDocument } from '#domain/knowledge/embeddings/embed-document.ts';
import { markEmbedded } from '#domain/knowledge/embeddings/mark-embedded.ts';
import { calibrate, lockGeneration } from '#domain/knowledge/embeddings/start-generation.ts';
import { storePassages } from '#domain/knowledge/ingestion/store-passages.ts';
import { EmbeddingSpace } from '#test/support/embedding-space.ts';
import { openWorld, type KnowledgeWorld } from '#test/support/knowledge-world.ts';
import { wordEmbedders } from '#test/support/word-embedders.ts';

let world: KnowledgeWorld;
const embedders = wordEmbedders();

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.stop());

const signal = new AbortController().signal;

/** A space with an embedded document, and a generation under construction without a vector. */
async function arrange() {
  const space = await EmbeddingSpace.create(world, embedders);
  const documentId = await space.add('The beacon is blue.');
  const { active } = await space.change(await space.model());
  const { tenantId, spaceId } = space.fixture;
  const inTransaction: Parameters<typeof embedDocument>[0] = (work) =>
    world.unitOfWork.inTenant(tenantId, work);
  const { building } = await space.read();
  const target = (await calibrate(inTransaction, building!, embedders.of(building!.model), signal))!;
  const document = { tenantId, documentId, generation: 1 };
  const { rows } = await world.admin.query<{ generation: number }>(
    'select generation from documents where id = $1',
    [documentId],
  );
  document.generation = rows[0]!.generation;
  return {
    space,
    document,
    inTransaction,
    activeId: active!.generation.id,
    generation: { tenantId, spaceId, embeddingId: target.generation.id },
    embed: () =>
      embedDocument(inTransaction, {
        target,
        document,
        embedder: embedders.of(target.model),
        signal,
        isOver: () => false,
      }),
  };
}

async function waiting(): Promise<number> {
  const { rows } = await world.admin.query<{ n: number }>(
    `select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
  );
  return rows[0]!.n;
}

/** Until `other` has ended or waits for a lock. */
async function untilStopped(other: Promise<unknown>): Promise<void> {
  let isOver = false;
  void other.then(
    () => (isOver = true),
    () => (isOver = true),
  );
  await expect.poll(async () => isOver || (await waiting()) > 0, { timeout: 8_000 }).toBe(true);
}

const pendingOf = async (documentId: string) =>
  (await world.admin.query('select embedding_pending from documents where id = $1', [documentId])).rows[0]
    .embedding_pending;

it('vectors that are stored while their generation is activated end in no deadlock, nor in a false mark', async () => {
  const { space, generation, inTransaction, embed } = await arrange();
  let embedded: Promise<boolean> = Promise.resolve(false);
  await inTransaction(async (em) => {
    await lockGeneration(em, generation.embeddingId);
    embedded = embed();
    await untilStopped(embedded);
    expect(await activateGeneration(em, generation)).toBe(true);
  });
  expect(await embedded).toBe(true);
  expect(await space.falselyEmbedded()).toEqual([]);
  await space.embedAll();
  expect((await space.read()).pendingDocuments).toBe(0);
});

it('a document that has the vectors of the generation before is not marked after the activation', async () => {
  const { space, document, generation, inTransaction, activeId } = await arrange();
  let marked: Promise<void> = Promise.resolve();
  await inTransaction(async (em) => {
    await activateGeneration(em, generation);
    marked = inTransaction((other) => markEmbedded(other, { ...document, embeddingId: activeId }));
    await untilStopped(marked);
  });
  await marked;
  expect(await pendingOf(document.documentId)).toBe(true);
  expect(await space.falselyEmbedded()).toEqual([]);
});

it('an activation waits for a mark, and then compares', async () => {
  const { space, document, generation, inTransaction, activeId } = await arrange();
  let activated: Promise<boolean> = Promise.resolve(false);
  await inTransaction(async (em) => {
    await markEmbedded(em, { ...document, embeddingId: activeId });
    activated = inTransaction((other) => activateGeneration(other, generation));
    await untilStopped(activated);
  });
  expect(await activated).toBe(true);
  expect(await pendingOf(document.documentId)).toBe(true);
  expect(await space.falselyEmbedded()).toEqual([]);
});

it('passages that are replaced during an activation are pending, though the ones before had all vectors', async () => {
  const { space, document, generation, inTransaction, embed } = await arrange();
  await embed();
  await world.admin.query(
    `update documents set status = 'processing', embedding_pending = true, embedded_count = 0 where id = $1`,
    [document.documentId],
  );
  let activated: Promise<boolean> = Promise.resolve(false);
  await inTransaction(async (em) => {
    const chunk = { heading: null, text: 'It is red.', start: 0, end: 10, page: null, anchor: null };
    const { documentId } = document;
    await storePassages(em, { documentId, readingId: 'another', chunks: [chunk] });
    activated = inTransaction((other) => activateGeneration(other, generation));
    await untilStopped(activated);
  });
  expect(await activated).toBe(true);
  expect(await pendingOf(document.documentId)).toBe(true);
  expect(await space.falselyEmbedded()).toEqual([]);
});
