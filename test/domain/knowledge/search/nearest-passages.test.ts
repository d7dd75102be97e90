import { afterAll, beforeAll, expect, it } from 'vitest';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { heavyBits, quantise, signBits } from '#domain/knowledge/embeddings/quantise.ts';
import { unit } from '#domain/knowledge/embeddings/vector-lists.ts';
import { nearestPassages } from '#domain/knowledge/search/nearest-passages.ts';
import { openWorld, type KnowledgeWorld } from '#test/support/knowledge-world.ts';

let world: KnowledgeWorld;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(async () => world.stop());

const dims = 60;
const mean = new Float32Array(dims).fill(0.01);
/** The first components of the question decide its cosines. */
const heavy = 18;
/** A vector like the question's, with the opposite sign in some components. */
const withFlipped = (flipped: (index: number) => boolean) =>
  unit(
    Float32Array.from({ length: dims }, (_, index) => (index < heavy ? 2 : 0.2) * (flipped(index) ? -1 : 1)),
  );
const question = withFlipped(() => false);

it('marks the components of a question that are furthest from the mean', () => {
  expect(heavyBits(question, mean, heavy / dims)).toBe('1'.repeat(heavy) + '0'.repeat(dims - heavy));
  expect(heavyBits(mean, mean, 1)).toBe('0'.repeat(dims));
});

/** The places of the nearest of these vectors, stored in the order of `places`. */
async function nearest(vectors: readonly Float32Array[], places = [...vectors.keys()]): Promise<number[]> {
  const space = await world.addSpace();
  const [embeddingId, collectionId, documentId] = [newId(), newId(), newId()];
  const rows = places.map((position) => ({
    position,
    bits: signBits(vectors[position]!, mean),
    vector: quantise(vectors[position]!, mean).toString('hex'),
  }));
  // Of the documents and chunks of the vectors a search reads nothing.
  await world.admin.query('set session_replication_role = replica');
  await world.admin.query(
    `with given as materialized (
       select * from jsonb_to_recordset($1::jsonb) as r(position integer, bits text, vector text)),
     stored as (
       insert into chunk_embeddings (tenant_id, embedding_id, document_id, generation, position, text_hash, vector)
       select $2, $3, $4, 1, position, sha256(convert_to(position::text, 'UTF8')), decode(vector, 'hex') from given)
     insert into chunk_vectors (tenant_id, embedding_id, collection_id, document_id, generation, position, bits)
     select $2, $3, $5, $4, 1, position, bits::bit varying from given`,
    [JSON.stringify(rows), space.tenantId, embeddingId, documentId, collectionId],
  );
  await world.admin.query('set session_replication_role = origin');
  const { hits } = await world.unitOfWork.inTenant(space.tenantId, (em) =>
    nearestPassages(em, {
      tenantId: space.tenantId,
      embeddingId,
      collectionIds: [collectionId],
      mean,
      vector: question,
      listCount: 0,
      graph: 0,
      passages: vectors.length,
      filter: {},
      reading: null,
      limit: 5,
    }),
  );
  return hits.map(({ position }) => position);
}

it('finds a near passage behind more passages with fewer different signs than it compares', async () => {
  const far = withFlipped((index) => index < 8);
  const near = withFlipped((index) => index >= heavy && index < heavy + 12);
  const vectors = [...Array.from({ length: 1_600 }, () => far), near];
  expect((await nearest(vectors))[0]).toBe(vectors.length - 1);
});

it('finds the same of equally many different signs, in whichever order they are stored', async () => {
  const light = dims - heavy;
  const vectors = Array.from({ length: 1_600 }, (_, n) => {
    const flipped = [n % light, (n + 1 + Math.floor(n / light)) % light].map((index) => heavy + index);
    const vector = withFlipped((index) => flipped.includes(index));
    // None is as near as another.
    return unit(vector.map((component, index) => (index < heavy ? component * (1 + n / 3_000) : component)));
  });
  const places = [...vectors.keys()];
  expect(await nearest(vectors, places)).toEqual(await nearest(vectors, places.toReversed()));
});
