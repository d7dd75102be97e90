import type { Embedders } from '#domain/knowledge/embeddings/embedder.ts';
import { localModel } from './local-model.ts';
import { VectorCache } from './vector-cache.ts';

/** The local model behind a cache on disk: only a first run takes long. */
export async function cachedEmbedders(folder: string): Promise<Embedders> {
  const { id, dims, maxTokens, queryPrefix, embed } = await localModel(folder);
  const cache = new VectorCache(folder, id, dims);
  const get = (text: string) => cache.get(text, () => embed(text));
  const embedder = {
    id,
    dims,
    maxTokens,
    embedQuery: async (text: string) => ({ vector: await get(queryPrefix + text), tokens: 1 }),
    embedPassages: async (texts: readonly string[]) => {
      const vectors: Float32Array[] = [];
      for (const text of texts) vectors.push(await get(text));
      return { vectors, tokens: 1 };
    },
  };
  return { of: () => embedder };
}
