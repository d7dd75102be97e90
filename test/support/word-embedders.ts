import { createHash } from 'node:crypto';
import type { Embedder, Embedders } from '#domain/knowledge/embeddings/embedder.ts';
import type { EmbeddingModel } from '#domain/knowledge/embeddings/embedding-model.entity.ts';

/** Texts with common words have near vectors: each word adds a fixed direction, another one for each salt. */
export function wordVector(text: string, dims = 64, salt = ''): Float32Array {
  const vector = new Float32Array(dims);
  for (const [word] of text.toLowerCase().matchAll(/\p{L}+|\d+/gu)) {
    for (let from = 0; from < dims; from += 64) {
      const digest = createHash('sha512').update(`${salt}${from}${word}`).digest();
      for (let index = from; index < Math.min(dims, from + 64); index += 1) {
        vector[index] = (vector[index] ?? 0) + (digest[index - from] ?? 0) - 127.5;
      }
    }
  }
  const length = Math.hypot(...vector) || 1;
  return vector.map((component) => component / length);
}

export interface WordEmbedders extends Embedders {
  /** Number of texts of each call. */
  batches: number[];
  /** All embedded passages, with the name of the model. */
  passages: { model: string; text: string }[];
  /** Called before each call with the name of the model; what it throws is the model's failure. */
  before: (model: string) => void | Promise<void>;
}

/** Models without weights, for tests of what is done with vectors. Each has the dimensions of its row. */
export function wordEmbedders(): WordEmbedders {
  const batches: number[] = [];
  const passages: { model: string; text: string }[] = [];
  const of = ({ dims, providerModel: model }: EmbeddingModel): Embedder => ({
    id: model,
    dims,
    maxTokens: 512,
    passagesPerCall: 64,
    embedQuery: async (text) => {
      await embedders.before(model);
      return { vector: wordVector(text, dims, model), tokens: 1 };
    },
    embedPassages: async (texts) => {
      await embedders.before(model);
      batches.push(texts.length);
      passages.push(...texts.map((text) => ({ model, text })));
      return { vectors: texts.map((text) => wordVector(text, dims, model)), tokens: texts.length };
    },
  });
  const embedders: WordEmbedders = { batches, passages, before: () => {}, of };
  return embedders;
}
