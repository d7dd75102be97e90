import { builtinEmbedder } from '#adapters/embeddings/builtin-embedder.ts';
import { createInference } from '#adapters/embeddings/inference-pools.ts';
import { createVectorProcesses } from '#adapters/embeddings/vector-processes.ts';
import type { Embedder } from '#domain/knowledge/embeddings/embedder.ts';
import { embeddingModel, readyModel } from '#test/support/builtin-weights.ts';
import { VectorCache } from './vector-cache.ts';

/** The builtin model behind a cache on disk: only a first run takes long. */
export async function cachedEmbedders(folder: string): Promise<{ of: () => Embedder }> {
  const embedder = builtinEmbedder(
    embeddingModel(),
    createInference(await readyModel(), createVectorProcesses()),
  );
  const cache = new VectorCache(folder, embedder.id, embedder.dims);
  const cached: Embedder = {
    ...embedder,
    embedQuery: async (text, signal) => ({
      vector: await cache.get(
        `question: ${text}`,
        async () => (await embedder.embedQuery(text, signal)).vector,
      ),
      tokens: 1,
    }),
    embedPassages: async (texts, signal) => {
      const vectors: Float32Array[] = [];
      for (const text of texts) {
        vectors.push(
          await cache.get(text, async () => {
            const [vector] = (await embedder.embedPassages([text], signal)).vectors;
            return vector ?? new Float32Array(embedder.dims);
          }),
        );
      }
      return { vectors, tokens: texts.length };
    },
  };
  return { of: () => cached };
}
