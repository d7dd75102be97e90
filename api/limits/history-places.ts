import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { FairSemaphore, TooBusy, type FairLimits } from '#domain/foundation/kernel/fair-semaphore.ts';

/** Histories that one gateway reads at a time: each may be some MiB, and a batch of calls may ask for twenty. */
const limits: FairLimits = { slots: 4, slotsPerKey: 1, waitersPerKey: 2, waitMs: 5_000 };

/** Seconds after which a refused reading may be repeated. */
const retryAfter = 1;

/** Bounds the histories of workflows that are read in this process, by the tenant that reads them. */
export class HistoryPlaces {
  readonly #places = new FairSemaphore(limits);

  /** @throws `rate_limited` when the tenant reads too many at once; the signal's reason */
  async run<T>(tenantId: string, signal: AbortSignal, read: () => Promise<T>): Promise<T> {
    const leave = await this.#places.acquire(tenantId, signal).catch((error: unknown) => {
      throw error instanceof TooBusy
        ? new DomainError('rate_limited', 'Too many histories are read at once.', { retryAfter })
        : error;
    });
    try {
      return await read();
    } finally {
      leave();
    }
  }
}
