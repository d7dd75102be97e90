import type { EntityManager } from '@mikro-orm/postgresql';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { isTimeout } from './sql-states.ts';

/** Statements that need the partition wait no longer than this. */
const lockMs = 50;

/** Writes in the transaction that has erased so many rows. */
export type AlsoWritten = (em: EntityManager, rows: number) => Promise<void>;

/**
 * Empties a partition whose rows are all of this tenant, at once instead of row by row. A partition that others share,
 * or that is in use, is left to the deletion of rows. @returns the number of rows
 */
export async function emptyPartition(
  purge: UnitOfWork,
  tenantId: string,
  partition: string,
  also: AlsoWritten,
): Promise<number> {
  try {
    return await purge.inTenant(tenantId, async (em) => {
      await em.execute(`set local lock_timeout = ${lockMs}`);
      const [row] = await em.execute<{ rows: string }[]>('select app.empty_lone_partition(?) as rows', [
        partition,
      ]);
      const rows = Number(row?.rows ?? 0);
      await also(em, rows);
      return rows;
    });
  } catch (error) {
    if (!isTimeout(error)) throw error;
    return 0;
  }
}
