import type { EntityManager } from '@mikro-orm/postgresql';

/** The database's clock, in milliseconds: deadlines, expiry and prices never depend on a process's own clock. */
export async function databaseNow(em: EntityManager): Promise<Date> {
  const [row] = await em.execute<{ now: Date | string }[]>(
    `select date_trunc('milliseconds', clock_timestamp()) as now`,
  );
  return new Date(row?.now ?? Number.NaN);
}
