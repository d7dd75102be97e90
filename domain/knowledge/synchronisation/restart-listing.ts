import type { EntityManager } from '@mikro-orm/postgresql';
import { lockRunning } from './running-run.ts';

/**
 * Begins the listing of a run once more, from its beginning, since the source no longer knows its cursor. What was
 * stored stays and is not fetched again, unless the new listing lacks it. Repeating it changes nothing.
 * @returns false when documents were listed since: the source's cursors do not live long enough. @throws RunEnded
 */
export async function restartListing(em: EntityManager, runId: string): Promise<boolean> {
  const { connector, run } = await lockRunning(em, runId);
  if (run.isRestarted) {
    return run.position == null && run.recordsFetched === 0 && !run.isListed;
  }
  // Marks of the listing before say nothing of this one.
  connector.listing += 1;
  run.listing = connector.listing;
  run.isRestarted = true;
  run.position = null;
  run.pageRecords = 0;
  run.cursorFrom = null;
  run.cursorTo = null;
  run.isListed = false;
  run.isTruncated = false;
  Object.assign(run, { recordsFetched: 0, unchanged: 0, skipped: 0, failed: 0, errors: [] });
  connector.checkpoint = null;
  await em.flush();
  return true;
}
