import { bytesToFloats } from '#domain/knowledge/embeddings/quantise.ts';
import { nearestPassages } from '#domain/knowledge/search/nearest-passages.ts';
import { searchKnowledge } from '#domain/knowledge/search/search-knowledge.ts';
import type { Embedder } from '#domain/knowledge/embeddings/embedder.ts';
import type { EmbeddingGeneration } from '#domain/knowledge/embeddings/embedding-generation.entity.ts';
import type { KnowledgeWorld, SpaceFixture } from '#test/support/knowledge-world.ts';
import type { Corpus } from './corpus.ts';

/** Of a search's answer. */
const depth = 10;

export interface Searched {
  space: SpaceFixture;
  collectionId: string;
  generation: EmbeddingGeneration;
  embedder: Embedder;
  vectors: Float32Array;
  /** Number of the first passage of each document. */
  numberOf: Map<string, number>;
}

export interface Times {
  /** Shares of the ten passages of the greatest cosine that the vector search found first. */
  recalls: number[];
  /** Milliseconds of the vector search, and of a whole hybrid search whose question has its vector. */
  nearest: number[];
  hybrid: number[];
}

export async function measureSearch(
  world: KnowledgeWorld,
  corpus: Corpus,
  searched: Searched,
): Promise<Times> {
  const { space, collectionId, generation, embedder, vectors, numberOf } = searched;
  const access = world.access(space, { of: () => embedder });
  const total = vectors.length / embedder.dims;
  const times: Times = { recalls: [], nearest: [], hybrid: [] };
  const nearest = (vector: Float32Array) =>
    access.inTransaction((em) =>
      nearestPassages(em, {
        tenantId: space.tenantId,
        embeddingId: generation.id,
        listCount: generation.listCount,
        graph: generation.graphedAt == null ? 0 : generation.graph,
        mean: bytesToFloats(generation.mean),
        vector,
        collectionIds: [collectionId],
        filter: {},
        reading: null,
        passages: total,
        limit: 200,
      }),
    );
  const hybrid = (query: string) =>
    searchKnowledge(access, {
      spaceId: space.spaceId,
      collectionIds: null,
      query,
      limit: depth,
      alpha: 0.75,
    });
  for (const { text } of corpus.questions.slice(0, 5)) await hybrid(text);
  for (const { vector } of corpus.questions) {
    const truth = exact(vectors, vector);
    const { result, ms } = await quickest(() => nearest(vector));
    const { hits } = result;
    times.nearest.push(ms);
    const found = hits.slice(0, depth).map((hit) => (numberOf.get(hit.documentId) ?? 0) + hit.position);
    // Passages of equal cosines may take each other's place.
    const least = truth.at(-1)!.cosine - 1e-6;
    const right = found.filter((n) => cosineAt(vectors, vector, n) >= least);
    times.recalls.push(right.length / depth);
  }
  // Apart: pages that the vector search of the same question has just read would make a hybrid search quicker.
  for (const { text } of corpus.questions) {
    const { result, ms } = await quickest(() => hybrid(text));
    times.hybrid.push(ms);
    if (result.mode !== 'hybrid') throw new Error('No vector search.');
  }
  return times;
}

/** Of some runs: others work on the same machine. */
async function quickest<T>(run: () => Promise<T>): Promise<{ result: T; ms: number }> {
  const runs: { result: T; ms: number }[] = [];
  for (let n = 0; n < 3; n += 1) {
    const startedAt = performance.now();
    runs.push({ result: await run(), ms: performance.now() - startedAt });
  }
  return runs.reduce((best, one) => (one.ms < best.ms ? one : best));
}

function cosineAt(vectors: Float32Array, question: Float32Array, n: number): number {
  let sum = 0;
  for (let at = 0, from = n * question.length; at < question.length; at += 1) {
    sum += question[at]! * vectors[from + at]!;
  }
  return sum;
}

/** The nearest passages by the vectors before they were stored. */
function exact(vectors: Float32Array, question: Float32Array): { n: number; cosine: number }[] {
  const best: { n: number; cosine: number }[] = [];
  for (let n = 0; n * question.length < vectors.length; n += 1) {
    const cosine = cosineAt(vectors, question, n);
    if (best.length < depth || cosine > best[depth - 1]!.cosine) {
      best.push({ n, cosine });
      best.sort((a, b) => b.cosine - a.cosine);
      best.length = Math.min(best.length, depth);
    }
  }
  return best;
}
