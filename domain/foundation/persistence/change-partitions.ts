import { setTimeout as sleep } from 'node:timers/promises';
import type { EntityManager } from '@mikro-orm/postgresql';
import { isLockTimeout } from './sql-state.ts';
import type { UnitOfWork } from './unit-of-work.ts';

/** Every statement that queues behind a partition change waits as long as the change itself. */
const lockTimeoutMs = 50;
/** Pause before each try. */
const pausesMs = [0, 100, 200, 400, 800, 1_600, 3_200, 6_400];

/**
 * Changes partitions in a transaction of its own, as the purge role. Waiting for a reader would block all writers
 * queued behind: on a conflict the change is given up at once and retried.
 * @returns null when every try met a conflict; a later round retries
 */
export async function changePartitions<T>(
  purge: UnitOfWork,
  change: (em: EntityManager) => Promise<T>,
): Promise<T | null> {
  for (const pause of pausesMs) {
    await sleep(pause);
    try {
      return await purge.acrossTenants((em) =>
        em.transactional(async (inside) => {
          await inside.execute(`set local lock_timeout = ${lockTimeoutMs}`);
          return change(inside);
        }),
      );
    } catch (error) {
      if (!isLockTimeout(error)) {
        throw error;
      }
    }
  }
  return null;
}
