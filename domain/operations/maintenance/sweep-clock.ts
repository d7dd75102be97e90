import type { Database } from '#domain/foundation/persistence/database.ts';

export interface Tick {
  /** The sweeps that are due. No other worker claims them until they are due again. */
  due: string[];
  /** Until the next sweep is due. */
  waitSeconds: number;
}

/**
 * Claims the sweeps that are due. All workers share one clock in PostgreSQL, so that more workers do not sweep more
 * often.
 */
export async function claimDueSweeps(
  database: Database,
  everySeconds: Readonly<Record<string, number>>,
): Promise<Tick> {
  const [row] = await database.call<{ due: string[]; wait_seconds: number }>(
    'take_due_sweeps',
    'select * from app.take_due_sweeps($1, $2)',
    [Object.keys(everySeconds), Object.values(everySeconds)],
  );
  return { due: row?.due ?? [], waitSeconds: row?.wait_seconds ?? 1 };
}

/** Releases a sweep that could not be started: it is due again at the next tick of a clock. */
export async function releaseSweep(database: Database, name: string): Promise<void> {
  await database.call('give_back_sweep', `update app.sweeps set taken_at = '-infinity' where name = $1`, [
    name,
  ]);
}

/** Records that sweeps succeeded, also if they had nothing to do. */
export async function recordSwept(database: Database, names: readonly string[]): Promise<void> {
  if (names.length > 0) {
    await database.call('note_swept', 'update app.sweeps set succeeded_at = now() where name = any ($1)', [
      names,
    ]);
  }
}

const abandoned = `greatest(taken_at, succeeded_at) < now() - interval '2 days'`;

/** Sweeps that no worker has claimed for two days, at most a hundred. */
export async function listAbandonedSweeps(database: Database): Promise<string[]> {
  const rows = await database.call<{ name: string }>(
    'list_abandoned_sweeps',
    `select name from app.sweeps where ${abandoned} order by name limit 100`,
    [],
  );
  return rows.map(({ name }) => name);
}

/** Does nothing if a worker has claimed the sweep meanwhile. */
export async function forgetSweep(database: Database, name: string): Promise<void> {
  await database.call('forget_sweep', `delete from app.sweeps where name = $1 and ${abandoned}`, [name]);
}

/** Seconds since each sweep last succeeded, or since it was first planned. */
export async function sweepAges(database: Database): Promise<{ name: string; seconds: number }[]> {
  return database.call<{ name: string; seconds: number }>(
    'sweep_ages',
    'select name, extract(epoch from now() - succeeded_at)::double precision as seconds from app.sweeps order by name',
    [],
  );
}
