import type { EntityManager } from '@mikro-orm/postgresql';
import { hitFailpoint } from '#domain/foundation/kernel/failpoint.ts';
import type { TransactionHook } from '#domain/foundation/persistence/unit-of-work.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { Dispatch } from './messages.ts';

const rowsOf = new WeakMap<EntityManager, Dispatch[]>();

/** Rows of this transaction that its process sends after the commit; null: relays send them. */
export function ownRows(em: EntityManager): Dispatch[] | null {
  return rowsOf.get(em) ?? null;
}

/** Makes a unit of work pass the rows of each committed transaction to the dispatcher, in the background. */
export function sendAfterCommit(dispatcher: Dispatcher): TransactionHook {
  return {
    begun: (em) => {
      rowsOf.set(em, []);
    },
    committed: (em) => {
      const rows = ownRows(em) ?? [];
      if (rows.length === 0) {
        return;
      }
      hitFailpoint('create.after_commit');
      for (const ofOne of Map.groupBy(rows, ({ workflowId }) => workflowId).values()) {
        void sendInOrder(dispatcher, ofOne);
      }
    },
  };
}

/** After a row that Temporal has not acknowledged, the rest is left to the relays, which keep the same order. */
async function sendInOrder(dispatcher: Dispatcher, rows: readonly Dispatch[]): Promise<void> {
  for (const row of rows) {
    if (!(await dispatcher.dispatch(row))) {
      return;
    }
  }
}
