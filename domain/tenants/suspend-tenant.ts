import { authorize } from '#domain/access/policy.ts';
import type { Context } from '#domain/access/context.ts';
import { recordEvent } from '#domain/events/record-event.ts';
import { DomainError } from '#domain/kernel/errors.ts';
import { Tenant } from './tenant.entity.ts';

/**
 * Cuts the access of the tenant that the caller acts in, or gives it back: from then on every operation of its principals is refused, and
 * attached readers are cut off. What runs stops before its next step, as with a revoked key. Repeating it changes nothing.
 * @throws `missing_permission`, `invalid_state` for a tenant that is being deleted and for the platform's own
 */
export async function suspendTenant(ctx: Context, suspended: boolean): Promise<Tenant> {
  authorize(ctx.caller, 'tenants.suspend');
  // Of two who do it at once one does; whoever adds a row of the tenant is not waited for.
  await ctx.em.execute('select from tenants where tenant_id = ? for no key update', [ctx.caller.tenantId]);
  const tenant = await ctx.em.findOneOrFail(Tenant, { id: ctx.caller.tenantId }, { filters: false });
  const status = suspended ? 'suspended' : 'active';
  if (tenant.isPlatform || !['active', 'suspended'].includes(tenant.status)) {
    throw new DomainError('invalid_state', 'This tenant can be neither suspended nor resumed.');
  }
  if (tenant.status === status) {
    return tenant;
  }
  tenant.status = status;
  await ctx.em.flush();
  await recordEvent(ctx.em, ctx.caller, {
    type: suspended ? 'system.tenant_suspended' : 'system.tenant_resumed',
    resource: { type: 'tenant', id: tenant.id },
  });
  await ctx.em.execute(`select pg_notify('access', ?)`, [tenant.id]);
  return tenant;
}
