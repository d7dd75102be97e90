import { setTimeout as sleep } from 'node:timers/promises';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';

/** Many services count requests by the minute; a longer pause is left to the run. */
const maxPauseMs = 65_000;
const minPauseMs = 250;
/** Together with the requests themselves, this stays below the time of one step of a run. */
const maxTotalMs = 240_000;

/**
 * Waits where the service asks for a short pause amid a piece of work. A document may need more requests than the service
 * allows in a minute: if each pause ended the work, such a document would be begun again for ever.
 */
export class Patience {
  #leftMs = maxTotalMs;

  /** @throws SourceFailure, and the signal's reason */
  async ask<T>(signal: AbortSignal, send: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await send();
      } catch (error) {
        const isPause = error instanceof SourceFailure && error.code === 'rate_limited';
        const pauseMs = isPause ? Math.max(error.retryAfterMs ?? 1_000, minPauseMs) : Infinity;
        if (pauseMs > maxPauseMs || pauseMs > this.#leftMs) {
          throw error;
        }
        this.#leftMs -= pauseMs;
        await sleep(pauseMs, undefined, { signal }).catch(() => {});
        signal.throwIfAborted();
      }
    }
  }
}
