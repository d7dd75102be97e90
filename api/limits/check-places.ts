import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { FairSemaphore, TooBusy, type FairLimits } from '#domain/foundation/kernel/fair-semaphore.ts';

export interface CheckLimits extends FairLimits {
  /** For one check, the wait for its turn included. */
  totalMs: number;
}

/** Checks of sources by one gateway at a time. */
export const checkLimits: CheckLimits = {
  slots: 8,
  slotsPerKey: 2,
  waitersPerKey: 8,
  waitMs: 5_000,
  totalMs: 10_000,
};

/** Seconds after which a refused check may be repeated. */
const retryAfter = 2;

/**
 * Bounds the checks of sources that run in this process, by tenant. A check keeps its place until it has ended, also
 * when its caller no longer waits for it.
 */
export class CheckPlaces {
  readonly #places: FairSemaphore;
  readonly #totalMs: number;

  constructor({ totalMs, ...limits }: CheckLimits = checkLimits) {
    this.#places = new FairSemaphore(limits);
    this.#totalMs = totalMs;
  }

  /**
   * @param left aborted when the client disconnects
   * @returns what `check` returns; `late` when it takes too long
   * @throws `rate_limited` when the tenant checks too much at once; the signal's reason
   */
  async run<T>(
    tenantId: string,
    left: AbortSignal,
    check: (signal: AbortSignal) => Promise<T>,
    late: T,
  ): Promise<T> {
    const timeout = new AbortController();
    const signal = AbortSignal.any([left, timeout.signal]);
    const ended = new Promise<T>((resolve, reject) => {
      timeout.signal.addEventListener('abort', () => resolve(late), { once: true });
      left.addEventListener('abort', () => reject(left.reason as Error), { once: true });
    });
    const timer = setTimeout(() => timeout.abort(), this.#totalMs);
    let began = false;
    const work = this.#places.run(tenantId, signal, () => {
      began = true;
      return check(signal);
    });
    try {
      return await Promise.race([ended, work]);
    } catch (error) {
      if (error instanceof TooBusy && !began) {
        throw new DomainError('rate_limited', 'Too many sources are checked at once.', { retryAfter });
      }
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }
}
