import { authorize } from '#domain/foundation/access/policy.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { lockTenant } from './lock-tenant.ts';
import type { Tenant } from './tenant.entity.ts';

/**
 * Suspends or reactivates the caller's tenant. Suspension refuses every operation of its principals and disconnects
 * attached readers; running work stops before its next step, as with a revoked key. A repeat changes nothing.
 * @throws `missing_permission`, `invalid_state` for a tenant that is being deleted and for the platform's own
 */
export async function suspendTenant(ctx: Context, suspended: boolean): Promise<Tenant> {
  authorize(ctx.caller, 'tenants.suspend');
  const tenant = await lockTenant(ctx);
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
