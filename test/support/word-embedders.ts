import { createHash } from 'node:crypto';
import type { Embedder, Embedders } from '#domain/knowledge/embeddings/embedder.ts';

const dims = 64;

/** Texts with common words have near vectors: each word adds a fixed direction. */
export function wordVector(text: string): Float32Array {
  const vector = new Float32Array(dims);
  for (const [word] of text.toLowerCase().matchAll(/\p{L}+|\d+/gu)) {
    createHash('sha512')
      .update(word)
      .digest()
      .forEach((byte, index) => {
        vector[index] = (vector[index] ?? 0) + byte - 127.5;
      });
  }
  const length = Math.hypot(...vector) || 1;
  return vector.map((component) => component / length);
}

export interface WordEmbedders extends Embedders {
  /** Number of texts of each call. */
  batches: number[];
  /** Called before each call; what it throws is the model's failure. */
  before: () => void | Promise<void>;
}

/** A model without weights, for tests of what is done with vectors. */
export function wordEmbedders(): WordEmbedders {
  const batches: number[] = [];
  const embedder: Embedder = {
    id: 'words',
    dims,
    maxTokens: 512,
    embedQuery: async (text) => {
      await embedders.before();
      return { vector: wordVector(text), tokens: 1 };
    },
    embedPassages: async (texts) => {
      await embedders.before();
      batches.push(texts.length);
      return { vectors: texts.map(wordVector), tokens: texts.length };
    },
  };
  const embedders: WordEmbedders = { batches, before: () => {}, of: () => embedder };
  return embedders;
}
