import type { Logger } from 'pino';
import { postponeInOutbox } from '#domain/foundation/durable/outbox.ts';
import type { ContendedPace } from '#domain/foundation/kernel/contended-pace.ts';
import type { Dispatcher } from '#domain/foundation/durable/dispatcher.ts';
import type { Database } from '#domain/foundation/persistence/database.ts';

export interface PacedDispatcherDependencies {
  /** Sends without a delay. */
  dispatcher: Dispatcher;
  pace: ContendedPace;
  database: Database;
  logger: Logger;
}

/**
 * Limits the rate at which a tenant's workflows start, since each start costs the Temporal server that all tenants
 * share. A delayed start stays in the outbox until it is due, where a relay finds it; nothing waits in this process.
 */
export function pacedDispatcher({
  dispatcher,
  pace,
  database,
  logger,
}: PacedDispatcherDependencies): Dispatcher {
  return {
    async dispatch(row) {
      const waitMs = row.kind === 'start' ? pace.take(`${row.workflowType} ${row.tenantId}`) : 0;
      if (waitMs === 0) {
        return dispatcher.dispatch(row);
      }
      try {
        await postponeInOutbox(database, row, waitMs);
      } catch (error) {
        // The lease that the row has since its commit expires soon, and a relay sends it then.
        logger.warn({ error: error instanceof Error ? error.name : 'unknown' }, 'start not postponed');
      }
      return false;
    },
  };
}
