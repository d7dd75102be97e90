import type { Context } from '#domain/access/context.ts';
import { Tenant } from './tenant.entity.ts';

/**
 * The tenant that the caller acts in, locked for a change. Of several who do it at once one does; whoever adds a row
 * of the tenant is not waited for.
 */
export async function lockTenant({ caller, em }: Context): Promise<Tenant> {
  await em.execute('select from tenants where tenant_id = ? for no key update', [caller.tenantId]);
  return em.findOneOrFail(Tenant, { id: caller.tenantId }, { filters: false, refresh: true });
}
