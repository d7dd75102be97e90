import type { EntityManager } from '@mikro-orm/postgresql';
import type { StartMessage } from '#domain/foundation/durable/messages.ts';
import { enqueue, isPending } from '#domain/foundation/durable/outbox.ts';
import { listedSweep, type Listing } from './listed-sweep.ts';
import type { Sweep, SweepDependencies } from './sweep.ts';

/** A row that is not finished, and the workflow that should be finishing it. */
export interface Unfinished {
  tenantId: string;
  workflowId: string;
  /** An operator has ended the workflow. */
  giveUp: (em: EntityManager) => Promise<unknown>;
  /** Temporal has lost the workflow. @returns its start, null when nothing is left to do */
  restart: (em: EntityManager) => Promise<StartMessage | null>;
}

interface Unfinishables<Row extends object> extends Pick<Listing<Row>, 'listFunction' | 'start' | 'placeOf'> {
  unfinished: (row: Row) => Unfinished;
  /** Rows that are over by themselves, whatever the engine knows of them. @returns whether it saw to this one */
  resolve?: (deps: SweepDependencies, row: Row) => Promise<boolean>;
}

/**
 * Compares unfinished rows with the engine, so that nothing stays unfinished. The engine lists which workflows of a
 * page are open; it is asked only of those that are not among them.
 */
export function reconciling<Row extends object>({
  unfinished,
  resolve,
  ...listing
}: Unfinishables<Row>): Sweep {
  return listedSweep<Row, ReadonlySet<string>>({
    ...listing,
    // Where the engine cannot list, it is asked of each.
    prepare: ({ inspector }, rows) =>
      inspector.openAmong(rows.map((row) => unfinished(row).workflowId)).catch(() => new Set<string>()),
    see: async (deps, row, open) =>
      (await resolve?.(deps, row)) === true ||
      (!open.has(unfinished(row).workflowId) && (await reconcile(deps, unfinished(row)))),
  });
}

/** @returns whether the row was given up, or a start of its workflow is in the outbox again */
async function reconcile(
  { unitOfWork, inspector }: SweepDependencies,
  { tenantId, workflowId, giveUp, restart }: Unfinished,
): Promise<boolean> {
  // Asked first: a start that is no longer pending has been acknowledged, so the engine knows the newest run.
  if (await unitOfWork.inTenant(tenantId, (em) => isPending(em, workflowId))) {
    return false;
  }
  switch (await inspector.stateOf(workflowId)) {
    case 'open':
      return false;
    case 'closed':
      await unitOfWork.inTenant(tenantId, giveUp);
      return true;
    case 'unknown_id':
      return unitOfWork.inTenant(tenantId, async (em) => {
        const start = await restart(em);
        return start !== null && (await enqueue(em, start)) !== null;
      });
  }
}
