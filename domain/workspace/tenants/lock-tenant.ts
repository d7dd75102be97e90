import type { Context } from '#domain/foundation/access/context.ts';
import { holdTenant } from '#domain/identity/grants/hold-tenant.ts';
import { Tenant } from './tenant.entity.ts';

/** The caller's tenant, locked for a change. */
export async function lockTenant(ctx: Context): Promise<Tenant> {
  await holdTenant(ctx);
  return ctx.em.findOneOrFail(Tenant, { id: ctx.caller.tenantId }, { filters: false, refresh: true });
}
