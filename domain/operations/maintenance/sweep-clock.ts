import type { Database } from '#domain/foundation/persistence/database.ts';

export interface Tick {
  /** The sweeps whose time has come: nobody else is given them before their time comes again. */
  due: string[];
  /** Until the next one's time comes. */
  waitSeconds: number;
}

/** Takes the sweeps that are due. One clock in PostgreSQL for all workers, so that more of them do not sweep more often. */
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

/** Gives one back that could not be begun: its time comes again at the next tick of a clock. */
export async function releaseSweep(database: Database, name: string): Promise<void> {
  await database.call('give_back_sweep', `update app.sweeps set taken_at = '-infinity' where name = $1`, [
    name,
  ]);
}

/** Notes that sweeps had nothing to do, or did it. */
export async function recordSwept(database: Database, names: readonly string[]): Promise<void> {
  if (names.length > 0) {
    await database.call('note_swept', 'update app.sweeps set succeeded_at = now() where name = any ($1)', [
      names,
    ]);
  }
}

const abandoned = `greatest(taken_at, succeeded_at) < now() - interval '2 days'`;

/** Sweeps that no worker has taken for two days, a hundred at most. */
export async function listAbandonedSweeps(database: Database): Promise<string[]> {
  const rows = await database.call<{ name: string }>(
    'list_abandoned_sweeps',
    `select name from app.sweeps where ${abandoned} order by name limit 100`,
    [],
  );
  return rows.map(({ name }) => name);
}

/** Unless a worker has taken it meanwhile. */
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
