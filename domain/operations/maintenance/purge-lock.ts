import type { EntityManager } from '@mikro-orm/postgresql';

/**
 * One purge of a tenant at a time, until the end of the transaction: of two responses that were given the same item,
 * each purge would see the other one's hold on it, and both would leave it.
 */
export async function lockPurge(em: EntityManager, tenantId: string): Promise<void> {
  await em.execute('select pg_advisory_xact_lock(hashtextextended(?, 0))', [`purge/${tenantId}`]);
}
