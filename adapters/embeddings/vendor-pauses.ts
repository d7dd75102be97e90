import { LRUCache } from 'lru-cache';
import { EmbeddingFailure } from '#domain/knowledge/embeddings/embedder.ts';

/** A row of a model of a tenant. */
interface ModelRow {
  tenantId: string;
  id: string;
}

/**
 * The times until which vendors do not want requests, by model. Other documents of the tenant do not ask a vendor that
 * has refused one of them.
 */
export class VendorPauses {
  readonly #until = new LRUCache<string, number>({ max: 1_000 });

  /** @throws EmbeddingFailure with the remaining time */
  check({ tenantId, id }: ModelRow): void {
    const remaining = (this.#until.get(`${tenantId}/${id}`) ?? 0) - Date.now();
    if (remaining > 0) {
      throw new EmbeddingFailure('rate_limited', remaining);
    }
  }

  note({ tenantId, id }: ModelRow, { retryAfterMs }: EmbeddingFailure): void {
    if (retryAfterMs !== null) {
      this.#until.set(`${tenantId}/${id}`, Date.now() + retryAfterMs);
    }
  }
}
