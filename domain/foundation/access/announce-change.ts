import type { EntityManager } from '@mikro-orm/postgresql';

/** Tells every gateway after the commit that rights in the tenant became fewer: open streams are checked anew. */
export async function announceChange(em: EntityManager, tenantId: string): Promise<void> {
  await em.execute(`select pg_notify('access', ?)`, [tenantId]);
}
