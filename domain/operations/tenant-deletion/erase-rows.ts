import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { countRemaining } from '#domain/operations/erasure/count-remaining.ts';
import { destroyDataKey } from '#domain/operations/erasure/destroy-data-key.ts';
import { eraseBatch } from '#domain/operations/erasure/erase-batch.ts';
import { planErasure } from '#domain/operations/erasure/plan-erasure.ts';
import { changeDeletion, type DeletionRef } from './progress.ts';
import { readStock } from './read-stock.ts';

/** A place in the plan: the name of the step and the cursor of its next batch. */
export interface ErasurePlace {
  step: string;
  cursor: string | null;
}

export interface ErasureParts {
  unitOfWork: UnitOfWork;
  /** Runs as the purge role. */
  purge: UnitOfWork;
}

/**
 * Counts what there is before the first row is erased, for progress and the certificate; keeps the end of the log and a
 * sample of ids. A repeat keeps what the first count found.
 */
export async function takeStock({ unitOfWork, purge }: ErasureParts, ref: DeletionRef): Promise<void> {
  const root = { kind: 'tenant', tenantId: ref.tenantId } as const;
  const plan = await purge.inTenant(ref.tenantId, (em) => planErasure(em, root));
  const counted = await countRemaining(purge, root, plan);
  const stock = await unitOfWork.inTenant(ref.tenantId, (em) => readStock(em, ref.tenantId));
  await changeDeletion(unitOfWork, ref, (deletion) => {
    if (deletion.counted == null) {
      Object.assign(deletion, stock, { counted });
      deletion.rowsCounted = Object.values(counted).reduce((sum, rows) => sum + rows, 0);
    }
  });
}

/** What was sealed cannot be read from here on, neither in the tables nor in their copies. */
export async function destroyKeys({ unitOfWork, purge }: ErasureParts, ref: DeletionRef): Promise<number> {
  const { keyIds } = await purge.inTenant(ref.tenantId, (em) => destroyDataKey(em, ref.tenantId));
  await changeDeletion(unitOfWork, ref, (deletion) => {
    deletion.keyIds = [...new Set([...deletion.keyIds, ...keyIds])].toSorted();
    deletion.keyDestroyedAt ??= new Date();
  });
  return keyIds.length;
}

/**
 * Erases rows from a place of the plan on, batch by batch, each in its own transaction.
 * @param mayGoOn asked between batches
 * @param reached called with the place of the next batch
 * @returns that place; null at the end of the plan
 */
export async function eraseRows(
  { unitOfWork, purge }: ErasureParts,
  ref: DeletionRef,
  pass: { from: ErasurePlace | null; mayGoOn: () => boolean; reached: (place: ErasurePlace, rows: number) => void },
): Promise<ErasurePlace | null> {
  const root = { kind: 'tenant', tenantId: ref.tenantId } as const;
  const plan = await purge.inTenant(ref.tenantId, (em) => planErasure(em, root));
  const { from } = pass;
  const first = from === null ? 0 : Math.max(0, plan.findIndex(({ name }) => name === from.step));
  for (const [n, step] of plan.slice(first).entries()) {
    let cursor = n === 0 && from !== null && from.step === step.name ? from.cursor : null;
    for (;;) {
      const batch = await eraseBatch(purge, root, step, cursor);
      cursor = batch.cursor;
      if (batch.rows > 0 && step.kind !== 'unlink') {
        await changeDeletion(unitOfWork, ref, (deletion) => {
          deletion.tableName = step.table;
          deletion.rowsDone += batch.rows;
          deletion.erased = { ...deletion.erased, [step.table]: (deletion.erased[step.table] ?? 0) + batch.rows };
        });
      }
      const next = cursor === null ? plan[first + n + 1]?.name : step.name;
      if (next === undefined) {
        return null;
      }
      const place = { step: next, cursor };
      pass.reached(place, step.kind === 'unlink' ? 0 : batch.rows);
      if (!pass.mayGoOn()) {
        return place;
      }
      if (cursor === null) {
        break;
      }
    }
  }
  return null;
}
