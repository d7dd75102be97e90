import type { EntityManager } from '@mikro-orm/postgresql';

/**
 * Serialises purges of one tenant until the end of the transaction. Of two concurrent purges of responses that share
 * an item, each would see the other's reference, and both would leave the item.
 */
export async function lockPurge(em: EntityManager, tenantId: string): Promise<void> {
  await em.execute('select pg_advisory_xact_lock(hashtextextended(?, 0))', [`purge/${tenantId}`]);
}
