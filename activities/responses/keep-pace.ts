import { setTimeout as sleep } from 'node:timers/promises';
import type { Pace } from '#domain/kernel/pace.ts';
import { interruption } from '../interruption.ts';
import { keepAlive } from '../keep-alive.ts';

/**
 * Waits until the tenant may begin another turn or call in this worker. A response costs Temporal, PostgreSQL and the
 * worker the same whoever asked for it, so this is what divides them among tenants.
 */
export async function keepPace(pace: Pace, tenantId: string): Promise<void> {
  const ms = pace.take(tenantId, 1);
  if (ms === 0) {
    return;
  }
  await keepAlive(async ({ signal }) => {
    await sleep(ms, undefined, { signal }).catch(() => {
      throw interruption();
    });
  });
}
