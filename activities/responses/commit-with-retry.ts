import { isTemporary } from './temporary-failure.ts';

/** Longer than a failover, or the restart of a machine. */
const patienceMs = 5 * 60_000;

/**
 * Repeats a commit, or a step on the way to it, for a while, so that generated output or a tool's outcome is not lost
 * because the database or the recogniser of names was unavailable.
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
      if (!isTemporary(error) || performance.now() > abandonAt || abandoned?.aborted === true) {
        throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  }
}
