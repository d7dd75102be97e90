import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import type { BatchNote } from './batch-note.ts';
import type { ErasureStep } from './erasure-step.ts';
import { isTimeout } from './sql-states.ts';

/**
 * Empties a partition whose rows are all of this tenant, at once instead of row by row. A partition that others share,
 * or that is in use, is left to the deletion of rows. @returns the number of rows
 */
export async function emptyPartition(
  purge: UnitOfWork,
  tenantId: string,
  { table, countedAs }: ErasureStep,
  note: BatchNote | null,
): Promise<number> {
  try {
    const [emptied] = await purge.acrossTenants((em) =>
      em.execute<{ rows: number }[]>('select app.erase_partition(?, ?, ?, ?, ?)::int as rows', [
        tenantId,
        table,
        note?.call ?? null,
        note?.id ?? null,
        countedAs,
      ]),
    );
    return emptied?.rows ?? 0;
  } catch (error) {
    if (!isTimeout(error)) throw error;
    return 0;
  }
}
