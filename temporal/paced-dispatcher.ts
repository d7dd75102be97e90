import type { Logger } from 'pino';
import { leaveToRelays } from '#domain/foundation/durable/outbox.ts';
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
 * share. A start beyond the pace stays in the outbox, from which relays take some of each tenant in each round; nothing
 * waits in this process.
 */
export function pacedDispatcher({
  dispatcher,
  pace,
  database,
  logger,
}: PacedDispatcherDependencies): Dispatcher {
  return {
    async dispatch(row) {
      if (row.kind !== 'start' || pace.take(row.tenantId, row.workflowType) === 0) {
        return dispatcher.dispatch(row);
      }
      try {
        await leaveToRelays(database, row);
      } catch (error) {
        // The lease that the row has since its commit expires soon, and a relay sends it then.
        logger.warn({ error: error instanceof Error ? error.name : 'unknown' }, 'start not left to relays');
      }
      return false;
    },
  };
}
