import type { Database } from '#domain/foundation/persistence/database.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { firstPlace, firstPlaceOf, halved, readPlace, writePlace, type Place } from './batch-place.ts';
import type { BatchNote } from './batch-note.ts';
import { batchStatements } from './batch-statements.ts';
import { emptyPartition } from './empty-partition.ts';
import { maxLockMs } from './erasure-database.ts';
import type { ErasureStep } from './erasure-step.ts';
import { markErasedEntries } from './mark-erased-entries.ts';
import { isReferred, isTimeout } from './sql-states.ts';

/** The time of a piece, and after which a batch has no other one: a piece may take longer than expected. */
const aimMs = maxLockMs / 3;

/** The purge role in two ways. */
export interface ErasureRoles {
  /** For transactions of several statements, and for a statement that takes longer than a batch may. */
  purge: UnitOfWork;
  /** For batches, each a statement and a transaction of its own: `erasureDatabase`. */
  batches: Database;
}

export interface BatchPlace {
  cursor: string | null;
  /** Null: nothing is written beside. */
  note: BatchNote | null;
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
 * Locks are held no longer than `maxLockMs`, but for a single row: a batch that would is undone and tried smaller.
 */
export async function eraseBatch(
  roles: ErasureRoles,
  tenantId: string,
  step: ErasureStep,
  { cursor, note }: BatchPlace,
): Promise<ErasedBatch> {
  if (step.kind === 'truncate') {
    return { rows: await emptyPartition(roles.purge, tenantId, step, note), cursor: null };
  }
  if (step.key.length === 0) {
    await markErasedEntries(roles.purge, tenantId, step);
  }
  let place = cursor === null ? firstPlaceOf(step) : readPlace(cursor);
  let [leaves, once] = [false, false];
  for (;;) {
    try {
      const batch = await eraseRows(roles, tenantId, { step, place, note, leaves, once });
      return { rows: batch.rows, cursor: nextCursor({ ...place, left: place.left || leaves }, batch) };
    } catch (error) {
      if (isTimeout(error) && place.size > 1) {
        place = halved(place);
        once = true;
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
  /** The key of the last row; null at the end of the table. */
  last: string[] | null;
  /** Rows to begin the next batch with, and what one costs. */
  size: number;
  rowMs: number;
}

function nextCursor(place: Place, { rows, last, size, rowMs }: Erased): string | null {
  const erased = place.erased + rows;
  if (last !== null) return writePlace({ after: last, size, rowMs, left: place.left, erased });
  if (!place.left) return null;
  if (erased === 0) throw new Error('Rows of one table refer to each other in a circle.');
  return writePlace({ ...firstPlace, size, rowMs });
}

interface BatchInput {
  step: ErasureStep;
  place: Place;
  note: BatchNote | null;
  /** Only rows that no row of the table refers to. */
  leaves: boolean;
  /** One piece: the batch was undone before. */
  once: boolean;
}

async function eraseRows(
  { purge, batches }: ErasureRoles,
  tenantId: string,
  { step, place, note, leaves, once }: BatchInput,
): Promise<Erased> {
  const { find, erase } = batchStatements(step, leaves);
  const { size, rowMs } = place;
  const after = place.after === null ? null : JSON.stringify(place.after);
  const noted = step.kind === 'unlink' ? null : note;
  const values = [
    tenantId,
    find,
    erase,
    after,
    size,
    rowMs,
    aimMs,
    once || size === 1,
    noted?.call ?? null,
    noted?.id ?? null,
    step.countedAs,
  ];
  const columns = 'rows::int, last, size, row_ms as "rowMs"';
  // A single row takes what it takes, but no others with it.
  const mayTakeLong = size === 1 && (leaves || step.selfReferences.length === 0);
  const [erased] = mayTakeLong
    ? await purge.acrossTenants((em) =>
        em.execute<Erased[]>(
          `select ${columns} from app.erase_batch(?, ?, ?, ?::jsonb, ?, ?, ?, ?, ?, ?, ?)`,
          values,
        ),
      )
    : await batches.call<Erased>(
        'erase_batch',
        `select ${columns} from app.erase_batch($1, $2, $3, $4::jsonb, $5, $6, $7, $8, $9, $10, $11)`,
        values,
      );
  if (erased === undefined) throw new Error('A batch gave no answer.');
  return erased;
}
