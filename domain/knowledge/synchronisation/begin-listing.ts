import type { EntityManager } from '@mikro-orm/postgresql';
import { markGone } from './mark-gone.ts';
import type { PageEnd } from './page-end.ts';
import { lockRunning } from './running-run.ts';
import type { Batch } from './store-batch.ts';

/**
 * Holds where the first page of a listing begins, and what it says to be gone, before a document of it is stored.
 * @returns false when another attempt has begun the listing @throws RunEnded
 */
export async function beginListing(
  em: EntityManager,
  { runId, pages, listing, at, end }: Omit<Batch, 'outcomes' | 'end'> & { at: string; end: PageEnd },
): Promise<boolean> {
  const { connector, run } = await lockRunning(em, runId);
  if (run.pages !== pages || run.listing !== listing || run.position != null) {
    return false;
  }
  await markGone(em, { connector, run }, end);
  run.position = at;
  await em.flush();
  return true;
}
