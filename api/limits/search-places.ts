import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { FairSemaphore, TooBusy, type FairLimits } from '#domain/foundation/kernel/fair-semaphore.ts';
import { SearchPlace } from './search-place.ts';

/** Searches of one gateway at a time. A tenant may wait for a turn, and holds at most half of them. */
const limits: FairLimits = { slots: 16, slotsPerKey: 8, waitersPerKey: 32, waitMs: 5_000 };

/** Seconds after which a refused search may be repeated. */
const retryAfter = 1;

/** Bounds the searches that run in this process, by tenant. */
export class SearchPlaces {
  readonly #places = new FairSemaphore(limits);

  /** @throws `rate_limited` when the tenant searches too much at once; the signal's reason */
  async run<T>(
    tenantId: string,
    signal: AbortSignal,
    search: (place: SearchPlace) => Promise<T>,
  ): Promise<T> {
    const take = () =>
      this.#places.acquire(tenantId, signal).catch((error: unknown) => {
        throw error instanceof TooBusy
          ? new DomainError('rate_limited', 'Too many searches at once.', { retryAfter })
          : error;
      });
    const place = new SearchPlace(take, await take());
    try {
      return await search(place);
    } finally {
      place.leave();
    }
  }
}
