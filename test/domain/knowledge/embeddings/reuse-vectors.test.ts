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

it('a text that a document has in hundreds of passages is embedded once', async () => {
  const embedders = wordEmbedders();
  const space = await EmbeddingSpace.create(world, embedders);
  await space.add('The beacon is blue.');
  embedders.passages.length = 0;
  const texts = Array.from({ length: 600 }, (_, n) => (n === 400 ? 'The quay is long.' : 'Fish is sold.'));
  const documentId = await space.add(texts.map((text) => `# Port\n\n${text}`).join('\n\n'));
  expect(embedders.passages.map(({ text }) => text)).toEqual([
    'Port\nFish is sold.',
    'Port\nThe quay is long.',
  ]);
  const { rows } = await world.admin.query(
    'select embedded_count, chunk_count, embedding_pending from documents where id = $1',
    [documentId],
  );
  expect(rows).toEqual([{ embedded_count: 600, chunk_count: 600, embedding_pending: false }]);
  expect(await space.falselyEmbedded()).toEqual([]);
});

it('a document takes the vectors that another one got while it was embedded', async () => {
  const embedders = wordEmbedders();
  const space = await EmbeddingSpace.create(world, embedders);
  await space.add('The beacon is blue.');
  const content = Array.from({ length: 200 }, (_, n) => `# Pier ${n}\n\nNumber ${n}.`).join('\n\n');
  const [first, copy] = [await space.upload(content), await space.upload(content)];
  let calls = 0;
  embedders.passages.length = 0;
  embedders.before = async () => {
    calls += 1;
    if (calls === 2) await space.process(copy);
  };
  await space.process(first);
  const calledFor = embedders.passages.map(({ text }) => text);
  expect(new Set(calledFor).size).toBe(200);
  // Twice only those of the call that was under way.
  expect(calledFor.length).toBe(200 + 64);
  expect(await space.falselyEmbedded()).toEqual([]);
});
