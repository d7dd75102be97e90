import { setTimeout as sleep } from 'node:timers/promises';
import { isDatabaseUnavailable } from './is-unavailable.ts';

const retryMs = 250;

/** Repeats work that must not be lost to a database that is unavailable for a moment. The work is safe to repeat. */
export async function retryUnavailable<T>(work: () => Promise<T>, patienceMs: number): Promise<T> {
  const until = performance.now() + patienceMs;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isDatabaseUnavailable(error) || performance.now() > until) {
        throw error;
      }
      await sleep(retryMs);
    }
  }
}
