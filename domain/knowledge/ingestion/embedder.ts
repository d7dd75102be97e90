import type { EntityManager } from '@mikro-orm/postgresql';
import type { StoredPassages } from './store-passages.ts';

/** The port to an embedding model. Its vectors have length 1. */
export interface Embedder {
  /** Identifies model and weights: vectors of different ids are not comparable. */
  id: string;
  /** 0: nothing is embedded. */
  dims: number;
  /** Max tokens of one text; longer texts are truncated. */
  maxTokens: number;
  embedQuery(text: string, signal: AbortSignal): Promise<Float32Array>;
  /** One vector for each text, in their order. */
  embedPassages(texts: readonly string[], signal: AbortSignal): Promise<Float32Array[]>;
}

export interface EmbeddedBatch extends StoredPassages {
  embedderId: string;
  vectors: readonly { position: number; vector: Float32Array }[];
}

/** Embeddings of passages and their storage; a batch may be repeated. */
export interface Embedding {
  embedder: Embedder;
  store(em: EntityManager, batch: EmbeddedBatch): Promise<void>;
}

/** Without an embedding model: search is by keyword. */
export const noEmbedding: Embedding = {
  embedder: {
    id: 'none',
    dims: 0,
    maxTokens: 0,
    embedQuery: () => Promise.resolve(new Float32Array()),
    embedPassages: (texts) => Promise.resolve(texts.map(() => new Float32Array())),
  },
  store: () => Promise.resolve(),
};
