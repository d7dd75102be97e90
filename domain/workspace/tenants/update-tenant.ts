import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { lockTenant } from './lock-tenant.ts';
import type { Tenant } from './tenant.entity.ts';

/** Renames the caller's tenant; its slug stays. @throws `missing_permission` */
export async function updateTenant(ctx: Context, input: { name: string }): Promise<Tenant> {
  const { caller, em } = ctx;
  authorize(caller, 'tenants.update');
  const tenant = await lockTenant(ctx);
  if (tenant.name !== input.name) {
    tenant.name = input.name;
    await em.flush();
    await recordEvent(em, caller, {
      type: 'system.tenant_updated',
      resource: { type: 'tenant', id: tenant.id },
      changedFields: ['name'],
    });
  }
  return tenant;
}
