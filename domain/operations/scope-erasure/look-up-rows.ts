import type { EntityManager } from '@mikro-orm/postgresql';

const off = ['hashjoin', 'mergejoin', 'seqscan', 'bitmapscan'].map(
  (plan) => `set_config('enable_${plan}', 'off', true)`,
);

/**
 * Until the end of the transaction rows are looked up one by one, whatever the statistics say: a scan of a table would
 * pass all that was erased before, in every batch.
 * @param limitMs of each statement; null: as it is
 */
export async function lookUpRows(em: EntityManager, limitMs: number | null): Promise<void> {
  const limit = limitMs === null ? [] : [`set_config('statement_timeout', '${limitMs}', true)`];
  await em.execute(`select ${[...off, ...limit].join(', ')}`);
}
