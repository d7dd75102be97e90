import type { EntityManager } from '@mikro-orm/postgresql';
import { hitFailpoint } from '#domain/foundation/kernel/failpoint.ts';
import type { TransactionHook } from '#domain/foundation/persistence/unit-of-work.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { Dispatch } from './messages.ts';

const rowsOf = new WeakMap<EntityManager, Dispatch[]>();

/** The rows of this transaction that its process sends after the commit; null: it sends none, relays do. */
export function ownRows(em: EntityManager): Dispatch[] | null {
  return rowsOf.get(em) ?? null;
}

/** Has a unit of work hand the rows of each transaction to the dispatcher once it is committed, in the background. */
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

/** What follows one that Temporal has not got yet is left to the relays, which go by the same order. */
async function sendInOrder(dispatcher: Dispatcher, rows: readonly Dispatch[]): Promise<void> {
  for (const row of rows) {
    if (!(await dispatcher.dispatch(row))) {
      return;
    }
  }
}
