import { isDatabaseUnavailable } from '#domain/persistence/is-unavailable.ts';

const patienceMs = 30_000;

/**
 * What was generated or done is not thrown away because the database was away at its commit: the commit is repeated
 * for a while.
 * @param commit learns whether an earlier try of it may be in
 */
export async function commitSurely<T>(commit: (doubtful: boolean) => Promise<T>): Promise<T> {
  const giveUpAt = performance.now() + patienceMs;
  for (let doubtful = false; ; doubtful = true) {
    try {
      return await commit(doubtful);
    } catch (error) {
      if (!isDatabaseUnavailable(error) || performance.now() > giveUpAt) {
        throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  }
}
