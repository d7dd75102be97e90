import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { signal } from '#domain/foundation/durable/messages.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { lockTenant } from '#domain/workspace/tenants/lock-tenant.ts';
import { requireDeletion } from './find-deletion.ts';
import type { TenantDeletion } from './tenant-deletion.entity.ts';
import { wakeConnectors } from './wake-connectors.ts';

/**
 * Restores the caller's tenant as it was before the request, while nothing has been erased. A repeat changes nothing.
 * @throws `missing_permission`, `deletion_not_found`, `invalid_state` once the erasure has begun, `tenant_suspended`
 *   for the tenant's own principals if it was suspended before
 */
export async function cancelDeletion(ctx: Context): Promise<TenantDeletion> {
  const { caller, em } = ctx;
  authorize(caller, 'tenants.delete');
  await requireDeletion(em);
  const tenant = await lockTenant(ctx);
  const deletion = await requireDeletion(em, { lock: true });
  if (deletion.status === 'cancelled') {
    return deletion;
  }
  if (deletion.status !== 'deletion_scheduled') {
    throw new DomainError('invalid_state', 'The erasure has begun and can no longer be cancelled.');
  }
  if (deletion.priorStatus === 'suspended' && !caller.isPlatform) {
    throw new DomainError(
      'tenant_suspended',
      'Only an operator of the platform restores a suspended tenant.',
    );
  }
  deletion.status = 'cancelled';
  deletion.step = 'finished';
  deletion.endedAt = await databaseNow(em);
  tenant.status = deletion.priorStatus;
  await em.flush();
  await recordEvent(em, caller, {
    type: 'system.tenant_deletion_cancelled',
    resource: { type: 'tenant', id: tenant.id },
    metadata: { deletion_id: deletion.id },
  });
  await ctx.enqueue(signal('deleteTenant', { tenantId: tenant.id }, 'cancel', []));
  await wakeConnectors(ctx);
  return deletion;
}
