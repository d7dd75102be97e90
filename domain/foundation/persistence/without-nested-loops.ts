import type { EntityManager } from '@mikro-orm/postgresql';

/**
 * For a statement that joins many rows with many. Without statistics, as of rows that have just been stored, PostgreSQL
 * expects few, and would compare each with each.
 */
export async function withoutNestedLoops(em: EntityManager, work: () => Promise<unknown>): Promise<void> {
  await em.execute(`select set_config('enable_nestloop', 'off', true)`);
  await work();
  await em.execute(`select set_config('enable_nestloop', 'on', true)`);
}
