import { setTimeout as sleep } from 'node:timers/promises';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { UnitOfWork } from './unit-of-work.ts';

/** Everybody who comes behind a change of partitions waits as long as it waits itself. */
const lockTimeoutMs = 50;
/** Before each try. */
const pausesMs = [0, 100, 200, 400, 800, 1_600, 3_200, 6_400];

/**
 * Changes partitions in a transaction of its own, as the purge role. A reader that is in the way is not waited for with
 * all writers behind: the change is given up at once and tried again.
 * @returns null when somebody was in the way each time; a later round comes back to it
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

function isLockTimeout(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && cause.code === '55P03') {
      return true;
    }
  }
  return false;
}
