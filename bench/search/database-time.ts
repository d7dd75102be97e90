import type { Client } from 'pg';

const extension = 'pg_stat_statements';
/** Settings of a server that counts the time of statements. */
export const countsTime = { shared_preload_libraries: extension, [`${extension}.track_planning`]: 'on' };

/** Whether the server counts the time of statements; from then on it does so for this database. */
export async function beginsCounting(admin: Client): Promise<boolean> {
  const { rows } = await admin.query<{ loaded: string }>(
    `select current_setting('shared_preload_libraries') as loaded`,
  );
  if (rows[0]?.loaded !== extension) return false;
  await admin.query(`create extension if not exists ${extension}`);
  return true;
}

/**
 * Milliseconds that the database plans and executes the statements of one of `runs` equal runs, each as fast as in the
 * quickest of them, and one after the other, though some go on at once.
 */
export async function databaseMs(admin: Client, runs: number, work: () => Promise<void>): Promise<number> {
  await admin.query(`select ${extension}_reset()`);
  await work();
  const { rows } = await admin.query<{ ms: number }>(
    `select sum(min_plan_time * plans + min_exec_time * calls) / $1 as ms from ${extension}`,
    [runs],
  );
  return rows[0]?.ms ?? 0;
}
