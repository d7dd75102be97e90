import type { EntityManager } from '@mikro-orm/postgresql';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { firstPlace, readPlace, writePlace, type Place } from './batch-place.ts';
import type { ErasureStep } from './erasure-step.ts';
import { isReferred, isTimeout } from './sql-states.ts';
import { BatchRows } from './batch-rows.ts';
import { emptyPartition, type AlsoWritten } from './empty-partition.ts';

/** Locks are held for about half of `lockMs` and never longer: a batch that would is undone and tried smaller. */
const aimMs = 40;
const lockMs = 90;
const maxRows = 20_000;

export interface BatchPlace {
  cursor: string | null;
  /** Runs in the transaction of the batch. */
  also?: AlsoWritten;
}

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
  tenantId: string,
  step: ErasureStep,
  { cursor, also = async () => {} }: BatchPlace,
): Promise<ErasedBatch> {
  if (step.kind === 'truncate') {
    return { rows: await emptyPartition(purge, tenantId, step.table, also), cursor: null };
  }
  let place = cursor === null ? firstPlace : readPlace(cursor);
  for (let leaves = false; ;) {
    try {
      const batch = await purge.inTenant(tenantId, async (em) => {
        const erased = await eraseRows(em, tenantId, { step, place, leaves });
        await also(em, erased.rows);
        return erased;
      });
      const left = place.left || leaves;
      return { rows: batch.rows, cursor: nextCursor({ ...place, left }, batch) };
    } catch (error) {
      const mayShrink = place.size > 1;
      if (isTimeout(error) && mayShrink) {
        place = { ...place, size: Math.max(1, Math.floor(place.size / 4)) };
      } else if (step.selfReferences.length > 0 && !leaves && (isTimeout(error) || isReferred(error))) {
        leaves = true;
      } else {
        throw error;
      }
    }
  }
}

interface Erased {
  rows: number;
  last: string[] | null;
  /** Of the statement that takes the locks. */
  tookMs: number;
}

function nextCursor(place: Place, { rows, last, tookMs }: Erased): string | null {
  const factor = Math.min(4, aimMs / Math.max(tookMs, 1));
  const size = Math.min(maxRows, Math.max(1, Math.floor(place.size * factor)));
  const erased = place.erased + rows;
  if (last !== null) return writePlace({ after: last, size, left: place.left, erased });
  if (!place.left) return null;
  if (erased === 0) throw new Error('Rows of one table refer to each other in a circle.');
  return writePlace({ ...firstPlace, size });
}

async function eraseRows(
  em: EntityManager,
  tenantId: string,
  { step, place, leaves }: { step: ErasureStep; place: Place; leaves: boolean },
): Promise<Erased> {
  const { after, size } = place;
  const batch = new BatchRows(step, tenantId);
  // What waits for these rows waits no longer than this. A single row takes what it takes, but no others with it.
  const limitMs = size > 1 || (step.selfReferences.length > 0 && !leaves) ? lockMs : null;
  const last = await batch.findLast(em, { after, size, limitMs });
  const begun = performance.now();
  const rows = await batch.erase(em, { after, last, leaves });
  return { rows, last, tookMs: performance.now() - begun };
}
