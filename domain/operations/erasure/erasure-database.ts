import type { ConnectionWatch } from '#domain/foundation/persistence/connection-watch.ts';
import { Database } from '#domain/foundation/persistence/database.ts';

/** What waits for the rows of a batch waits no longer than this and its commit. */
export const maxLockMs = 75;

/**
 * Connections for the batches of erasures. A batch is one statement, so its locks end with the server's work and never
 * wait for this process; PostgreSQL cancels a longer one.
 * @param url a login as `app_purge`
 */
export function erasureDatabase(url: string, watch?: ConnectionWatch): Database {
  return new Database({ url, statementTimeoutMs: maxLockMs, poolSize: 4, watch });
}
