import { LRUCache } from 'lru-cache';
import { EmbeddingFailure } from '#domain/knowledge/embeddings/embedder.ts';

/** What a vendor refused. The identity is of a tenant and the version of its credential. */
export interface PausedPlace {
  model: { id: string };
  connection: { baseURL: string; identity: string };
}

/**
 * The times until which vendors do not want requests, by model, address and credential: who changes one of them need
 * not wait. Other documents of the tenant do not ask a vendor that has refused one of them.
 */
export class VendorPauses {
  readonly #until = new LRUCache<string, number>({ max: 1_000 });

  /** @throws EmbeddingFailure with the remaining time, and what `ask` throws */
  async heed<T>({ model, connection }: PausedPlace, ask: () => Promise<T>): Promise<T> {
    const key = JSON.stringify([model.id, connection.baseURL, connection.identity]);
    const remaining = (this.#until.get(key) ?? 0) - Date.now();
    if (remaining > 0) {
      throw new EmbeddingFailure('rate_limited', remaining);
    }
    try {
      return await ask();
    } catch (error) {
      if (error instanceof EmbeddingFailure && error.retryAfterMs !== null) {
        this.#until.set(key, Date.now() + error.retryAfterMs);
      }
      throw error;
    }
  }
}
