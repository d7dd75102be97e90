import type { EntityManager } from '@mikro-orm/postgresql';
import { isOwed } from '#domain/durable/outbox.ts';
import type { Dispatch } from '#domain/kernel/dispatcher.ts';
import type { WorkflowInspector } from '#domain/kernel/workflow-inspector.ts';
import type { Database } from '#domain/persistence/database.ts';
import type { UnitOfWork } from '#domain/persistence/unit-of-work.ts';
import { sweep, type Listing } from './sweep.ts';

export interface ReconcileDependencies {
  database: Database;
  unitOfWork: UnitOfWork;
  inspector: WorkflowInspector;
}

export interface Reconciled {
  /** Starts to be dispatched. */
  starts: Dispatch[];
  /** How many rows could not be seen to. */
  failed: number;
}

/** A row that is not finished, and the workflow that should be finishing it. */
export interface Unfinished {
  tenantId: string;
  workflowId: string;
  /** An operator has ended the workflow. */
  giveUp: (em: EntityManager) => Promise<unknown>;
  /** The engine has lost the workflow. @returns null when nothing is left to do */
  startAnew: (em: EntityManager) => Promise<Dispatch | null>;
}

/** Compares a row with the engine, so that nothing stays unfinished. @returns the start that is owed again, if any */
export async function reconcile(
  { unitOfWork, inspector }: ReconcileDependencies,
  { tenantId, workflowId, giveUp, startAnew }: Unfinished,
): Promise<Dispatch | null> {
  // Asked first: a start that is no longer owed has been acknowledged, so the engine knows the newest run.
  if (await unitOfWork.inTenant(tenantId, (em) => isOwed(em, workflowId))) {
    return null;
  }
  const state = await inspector.stateOf(workflowId);
  switch (state) {
    case 'running':
      return null;
    case 'closed':
      await unitOfWork.inTenant(tenantId, giveUp);
      return null;
    case 'unknown_id':
      return unitOfWork.inTenant(tenantId, startAnew);
  }
}

/** Sees to every listed row, and keeps the starts that this gave. */
export async function reconcileListed<Row extends object>(
  { database }: ReconcileDependencies,
  listing: Listing<Row>,
  see: (row: Row) => Promise<Dispatch | null>,
): Promise<Reconciled> {
  const starts: Dispatch[] = [];
  const { failed } = await sweep(database, listing, async (row) => {
    const start = await see(row);
    if (start !== null) {
      starts.push(start);
    }
  });
  return { starts, failed };
}
