import type { EntityManager } from '@mikro-orm/postgresql';

/**
 * Notifies every gateway, after the commit, that permissions in the tenant were reduced: gateways check open streams
 * again.
 */
export async function announceChange(em: EntityManager, tenantId: string): Promise<void> {
  await em.execute(`select pg_notify('access', ?)`, [tenantId]);
}
