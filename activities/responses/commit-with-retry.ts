import { isDatabaseUnavailable } from '#domain/foundation/persistence/is-unavailable.ts';

/** Longer than a failover, or the restart of a machine. */
const patienceMs = 5 * 60_000;

/**
 * Repeats a commit for a while, so that generated output or a tool's outcome is not lost because the database was
 * unavailable.
 * @param commit its argument says whether an earlier try may have been committed
 * @param abandoned stops the retries of work that another worker can repeat
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
