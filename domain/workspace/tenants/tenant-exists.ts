import type { EntityManager } from '@mikro-orm/postgresql';
import { Tenant } from './tenant.entity.ts';

/** Whether there is a tenant with this id, in a transaction of that tenant. */
export async function tenantExists(em: EntityManager, id: string): Promise<boolean> {
  return (await em.count(Tenant, { id }, { filters: false })) > 0;
}
