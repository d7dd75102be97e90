import { FairSemaphore, TooBusy, type FairLimits } from '#domain/foundation/kernel/fair-semaphore.ts';
import { EmbeddingFailure } from '#domain/knowledge/embeddings/embedder.ts';
import type { EmbeddingPurpose } from './vendor-dialects.ts';

/**
 * Concurrent calls of vendors in one process. Each call for passages holds a slot of the worker's queues for as long as
 * its vendor takes, so a tenant may wait for few; a question is searched by keyword instead of waiting long for its turn.
 */
const limits: Record<EmbeddingPurpose, FairLimits> = {
  passage: { slots: 8, slotsPerKey: 3, waitersPerKey: 2, waitMs: 1_000 },
  query: { slots: 256, slotsPerKey: 8, waitersPerKey: 32, waitMs: 1_000 },
};

/** Each tenant's share of the calls of vendors. */
export class VendorShares {
  readonly #turns: Record<EmbeddingPurpose, FairSemaphore> = {
    passage: new FairSemaphore(limits.passage),
    query: new FairSemaphore(limits.query),
  };

  /** @throws EmbeddingFailure `busy` when the share is used up; the signal's reason */
  async run<T>(
    purpose: EmbeddingPurpose,
    tenantId: string,
    signal: AbortSignal,
    call: () => Promise<T>,
  ): Promise<T> {
    const release = await this.#turns[purpose].acquire(tenantId, signal).catch((error: unknown) => {
      throw error instanceof TooBusy ? new EmbeddingFailure('busy') : error;
    });
    try {
      return await call();
    } finally {
      release();
    }
  }
}
