import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { Tenant } from './tenant.entity.ts';

/** The caller's tenant. @throws `missing_permission` */
export async function readTenant(ctx: Context): Promise<Tenant> {
  authorize(ctx.caller, 'tenants.read');
  return ctx.em.findOneOrFail(Tenant, { id: ctx.caller.tenantId }, { filters: false });
}
