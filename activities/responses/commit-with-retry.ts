import { isDatabaseUnavailable } from '#domain/foundation/persistence/is-unavailable.ts';

/** Longer than a failover, or the restart of a machine, takes. */
const patienceMs = 5 * 60_000;

/**
 * What was generated or done is not thrown away because the database was away at its commit: the commit is repeated
 * for a while.
 * @param commit learns whether an earlier try of it may be in
 * @param abandoned for what another worker can do again
 */
export async function commitWithRetry<T>(
  commit: (doubtful: boolean) => Promise<T>,
  abandoned?: AbortSignal,
): Promise<T> {
  const abandonAt = performance.now() + patienceMs;
  for (let doubtful = false; ; doubtful = true) {
    try {
      return await commit(doubtful);
    } catch (error) {
      if (!isDatabaseUnavailable(error) || performance.now() > abandonAt || abandoned?.aborted === true) {
        throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  }
}
