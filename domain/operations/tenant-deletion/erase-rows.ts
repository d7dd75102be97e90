import type { AnchorLog } from '#domain/foundation/events/anchor.ts';
import { anchorChain } from '#domain/foundation/events/anchor-chains.ts';
import { sealTenant } from '#domain/foundation/events/seal-events.ts';
import { own } from '#domain/foundation/kernel/own.ts';
import { isDatabaseUnavailable } from '#domain/foundation/persistence/is-unavailable.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { VerifierFailure } from '#domain/operations/erasure-proof/verifier-failure.ts';
import { destroyDataKey } from '#domain/operations/erasure/destroy-data-key.ts';
import { eraseBatch, type ErasedBatch, type ErasureRoles } from '#domain/operations/erasure/erase-batch.ts';
import type { ErasureStep } from '#domain/operations/erasure/erasure-step.ts';
import { planErasure } from '#domain/operations/erasure/plan-erasure.ts';
import { isReferred } from '#domain/operations/erasure/sql-states.ts';
import { lockDeletion } from './find-deletion.ts';
import { changeDeletion, noteIn, type DeletionRef } from './progress.ts';
import type { Prover } from './prove-erasure.ts';
import { readStock } from './read-stock.ts';
import type { TenantDeletion } from './tenant-deletion.entity.ts';

/** A place in the plan: the name of the step and the cursor of its next batch. */
export interface ErasurePlace {
  step: string;
  cursor: string | null;
}

export interface ErasureParts extends ErasureRoles {
  unitOfWork: UnitOfWork;
}

export interface StockParts extends ErasureParts {
  prover: Prover;
  anchors: AnchorLog;
  eventRetentionDays: number;
}

/**
 * Keeps what the verifier counts before the first row is erased, for progress and the certificate, the end of the log
 * and a sample of ids. Nothing goes before the verifier has seen this tenant in every table that is erased: a zero of
 * its later count says something only then. A repeat keeps what the first count found.
 * @throws VerifierFailure
 */
export async function takeStock(
  { unitOfWork, purge, prover, anchors, eventRetentionDays }: StockParts,
  ref: DeletionRef,
): Promise<void> {
  const known = await unitOfWork.inTenant(ref.tenantId, (em) => lockDeletion(em, ref.deletionId));
  if (known.counted != null) {
    return;
  }
  // The certificate names the end of the log, which is sealed and anchored while it is there. A log that cannot be
  // sealed any more, because it was changed, holds nothing up.
  await sealTenant(purge, ref.tenantId).catch((error: unknown) => {
    if (isDatabaseUnavailable(error)) throw error;
  });
  const { tables } = await prover.verify(ref.tenantId, []);
  if (own(tables, 'public.tenants') !== 1) {
    throw new VerifierFailure('verifier_blind', 'The verifier does not see the tenant that is to be erased.');
  }
  const plan = await purge.inTenant(ref.tenantId, planErasure);
  const counted = countsOf(plan, tables);
  const anchor = await anchorChain({ purge, anchors }, ref.tenantId, eventRetentionDays);
  const stock = await unitOfWork.inTenant(ref.tenantId, (em) => readStock(em, ref.tenantId, anchor));
  await changeDeletion(unitOfWork, ref, (deletion) => {
    if (deletion.counted == null) {
      Object.assign(deletion, stock, { counted });
      deletion.rowsCounted = Object.values(counted).reduce((sum, rows) => sum + rows, 0);
    }
  });
}

/** Rows of each table of the plan. @throws VerifierFailure for a table that was not counted */
function countsOf(
  plan: readonly ErasureStep[],
  tables: Readonly<Record<string, number>>,
): Record<string, number> {
  const counts = new Map<string, number>();
  for (const { table } of plan.filter(({ kind }) => kind === 'delete')) {
    const rows = own(tables, `public.${table}`);
    if (rows === undefined) {
      throw new VerifierFailure('verifier_blind', `The verifier does not count ${table}, which is erased.`);
    }
    counts.set(table, rows);
  }
  return Object.fromEntries(counts);
}

/**
 * What was sealed cannot be read from here on, neither in the tables nor in their copies. The certificate names the keys:
 * their ids are written in the transaction that deletes them.
 */
export async function destroyKeys({ purge }: ErasureParts, ref: DeletionRef): Promise<number> {
  return purge.inTenant(ref.tenantId, async (em) => {
    const { keyIds } = await destroyDataKey(em, ref.tenantId);
    await noteIn(em, ref.deletionId, (deletion) => {
      deletion.keyIds = [...new Set([...deletion.keyIds, ...keyIds])].toSorted();
      addErased(deletion, 'data_keys', keyIds.length);
      deletion.keyDestroyedAt ??= new Date();
    });
    return keyIds.length;
  });
}

export interface ErasurePass {
  /** Null: from the beginning of the plan. */
  from: ErasurePlace | null;
  /** Asked between batches. */
  mayGoOn: () => boolean;
  /** Called with the place of the next batch and the rows of the last. */
  reached: (place: ErasurePlace, rows: number) => void;
}

/**
 * Erases rows from a place of the plan on, batch by batch, each in its own transaction. Rows that somebody refers to,
 * because it wrote after the tables behind were erased, stay for the next pass.
 * @returns the place of the next batch; null at the end of the plan
 */
export async function eraseRows(
  parts: ErasureParts,
  ref: DeletionRef,
  { from, mayGoOn, reached }: ErasurePass,
): Promise<ErasurePlace | null> {
  const plan = await parts.purge.inTenant(ref.tenantId, planErasure);
  let at =
    from === null
      ? 0
      : Math.max(
          0,
          plan.findIndex(({ name }) => name === from.step),
        );
  let cursor = plan[at]?.name === from?.step ? (from?.cursor ?? null) : null;
  for (let step = plan[at]; step !== undefined; step = plan[at]) {
    const batch = await eraseUnreferred(parts, ref, step, cursor);
    cursor = batch.cursor;
    at += cursor === null ? 1 : 0;
    const next = plan[at];
    if (next !== undefined) {
      const place = { step: next.name, cursor };
      reached(place, batch.rows);
      if (!mayGoOn()) {
        return place;
      }
    }
  }
  return null;
}

async function eraseUnreferred(
  roles: ErasureRoles,
  { tenantId, deletionId }: DeletionRef,
  step: ErasureStep,
  cursor: string | null,
): Promise<ErasedBatch> {
  try {
    const note = { call: 'note_erased', id: deletionId };
    const batch = await eraseBatch(roles, tenantId, step, { cursor, note });
    return step.kind === 'unlink' ? { ...batch, rows: 0 } : batch;
  } catch (error) {
    if (isReferred(error)) {
      return { rows: 0, cursor: null };
    }
    throw error;
  }
}

function addErased(deletion: TenantDeletion, table: string, rows: number): void {
  if (rows > 0) {
    deletion.failure = null;
    deletion.rowsDone += rows;
    deletion.erased = { ...deletion.erased, [table]: (own(deletion.erased, table) ?? 0) + rows };
  }
}
