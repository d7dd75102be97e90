import type { EntityManager } from '@mikro-orm/postgresql';
import { lockRunning } from './running-run.ts';

/**
 * Begins the listing of a run once more, from its beginning, since the source no longer knows its cursor. What was
 * stored stays and is not fetched again.
 * @returns false when that was done before: the source's cursors do not live long enough. @throws RunEnded
 */
export async function restartListing(em: EntityManager, runId: string): Promise<boolean> {
  const { connector, run } = await lockRunning(em, runId);
  if (run.isRestarted) {
    return false;
  }
  run.isRestarted = true;
  run.position = null;
  run.cursorFrom = null;
  run.isListed = false;
  connector.checkpoint = null;
  await em.flush();
  return true;
}
