import type { EntityManager } from '@mikro-orm/postgresql';
import type { StartMessage } from '#domain/foundation/durable/messages.ts';
import { enqueue, isPending } from '#domain/foundation/durable/outbox.ts';
import { listedSweep, type Listing } from '#domain/operations/sweep-kinds/listed-sweep.ts';
import type { Sweep, SweepDependencies } from '#domain/operations/sweep-kinds/sweep.ts';

/** An unfinished row and the workflow that should finish it. */
export interface Unfinished {
  tenantId: string;
  workflowId: string;
  /**
   * Of a row whose work may be asked for again under its id: a value that differs after that. It is read before Temporal
   * is asked, whose answer is about the work before.
   */
  stampOf?: (em: EntityManager) => Promise<string | null>;
  /** Called when an operator has ended the workflow, with what `stampOf` returned. */
  giveUp: (em: EntityManager, stamp: string | null) => Promise<unknown>;
  /** Called when Temporal has lost the workflow. @returns its start, null when nothing is left to do */
  restart: (em: EntityManager) => Promise<StartMessage | null>;
}

interface UnfinishedListing<Row extends object> extends Pick<
  Listing<Row>,
  'listFunction' | 'start' | 'placeOf'
> {
  unfinished: (row: Row) => Unfinished;
  /** Handles rows that must end whatever state Temporal reports. @returns whether it handled this row */
  resolve?: (deps: SweepDependencies, row: Row) => Promise<boolean>;
}

/**
 * Compares unfinished rows with Temporal, so that none stays unfinished. Temporal lists the open workflows of a page;
 * only the others are described one by one.
 */
export function reconciling<Row extends object>({
  unfinished,
  resolve,
  ...listing
}: UnfinishedListing<Row>): Sweep {
  return listedSweep<Row, ReadonlySet<string>>({
    ...listing,
    // If the listing fails, each workflow is described.
    prepare: ({ inspector }, rows) =>
      inspector.openAmong(rows.map((row) => unfinished(row).workflowId)).catch(() => new Set<string>()),
    processRow: async (deps, row, open) =>
      (await resolve?.(deps, row)) === true ||
      (!open.has(unfinished(row).workflowId) && (await reconcile(deps, unfinished(row)))),
  });
}

/** @returns whether the row was given up, or a start of its workflow was enqueued again */
async function reconcile(
  { unitOfWork, inspector }: SweepDependencies,
  { tenantId, workflowId, stampOf, giveUp, restart }: Unfinished,
): Promise<boolean> {
  // Checked before Temporal: a start that is no longer pending was acknowledged, so Temporal knows the newest run.
  const { pending, stamp } = await unitOfWork.inTenant(tenantId, async (em) => ({
    stamp: (await stampOf?.(em)) ?? null,
    pending: await isPending(em, workflowId),
  }));
  if (pending) {
    return false;
  }
  switch (await inspector.stateOf(workflowId)) {
    case 'open':
      return false;
    case 'closed':
      await unitOfWork.inTenant(tenantId, (em) => giveUp(em, stamp));
      return true;
    case 'unknown_id':
      return unitOfWork.inTenant(tenantId, async (em) => {
        const start = await restart(em);
        return start !== null && (await enqueue(em, start)) !== null;
      });
  }
}
