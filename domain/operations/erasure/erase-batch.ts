import type { EntityManager } from '@mikro-orm/postgresql';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { firstPlace, readPlace, writePlace, type Place } from './batch-place.ts';
import type { ErasureRoot, ErasureStep } from './erasure-root.ts';
import { isTimeout } from './is-timeout.ts';
import { BatchRows } from './batch-rows.ts';
import { emptyPartition } from './empty-partition.ts';

/** Locks are held for about half of `lockMs` and never longer: a batch that would is undone and tried smaller. */
const aimMs = 40;
const lockMs = 90;
const maxRows = 20_000;

export interface ErasedBatch {
  /** Rows that this batch deleted or unlinked. */
  rows: number;
  /** Where the next batch begins; null at the end of the table. */
  cursor: string | null;
}

/**
 * Erases the next rows of a step in one transaction of the purge role, in the order of the primary key. The cursor is
 * that of the batch before, null for the first; a batch that is repeated with the same cursor finds its rows erased.
 */
export async function eraseBatch(
  purge: UnitOfWork,
  root: ErasureRoot,
  step: ErasureStep,
  cursor: string | null,
): Promise<ErasedBatch> {
  if (step.kind === 'truncate') {
    return { rows: await emptyPartition(purge, root.tenantId, step.table), cursor: null };
  }
  for (let place = cursor === null ? firstPlace : readPlace(cursor); ;) {
    const begun = performance.now();
    try {
      const { rows, last } = await purge.inTenant(root.tenantId, (em) =>
        eraseRows(em, root, { step, place }),
      );
      return { rows, cursor: nextCursor(place, last, performance.now() - begun) };
    } catch (error) {
      if (!isTimeout(error) || place.size === 1) throw error;
      place = { ...place, size: Math.max(1, Math.floor(place.size / 4)) };
    }
  }
}

function nextCursor(place: Place, last: string[] | null, tookMs: number): string | null {
  const factor = Math.min(2, aimMs / Math.max(tookMs, 1));
  const size = Math.min(maxRows, Math.max(1, Math.floor(place.size * factor)));
  return last === null ? null : writePlace({ after: last, size });
}

async function eraseRows(
  em: EntityManager,
  { tenantId }: ErasureRoot,
  { step, place: { after, size } }: { step: ErasureStep; place: Place },
): Promise<{ rows: number; last: string[] | null }> {
  const rows = new BatchRows(step, tenantId);
  const last = await rows.findLast(em, after, size);
  // What waits for these rows waits no longer than this.
  if (size > 1) await em.execute(`set local statement_timeout = ${lockMs}`);
  return { rows: await rows.erase(em, after, last), last };
}
