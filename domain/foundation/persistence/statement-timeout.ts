import { AsyncLocalStorage } from 'node:async_hooks';
import type { EntityManager } from '@mikro-orm/postgresql';

const inForce = new AsyncLocalStorage<number>();

/** The server's timeout for a statement sent now, in milliseconds. */
export const statementTimeoutInForce = (ordinary: number): number => inForce.getStore() ?? ordinary;

/**
 * For work that takes longer than its login allows, until the end of the transaction: raises the limit on both the
 * server and the client.
 */
export async function withStatementTimeout<T>(
  em: EntityManager,
  timeoutMs: number,
  work: () => Promise<T>,
): Promise<T> {
  await em.execute(`set local statement_timeout = ${timeoutMs}`);
  return inForce.run(timeoutMs, work);
}
