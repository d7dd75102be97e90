import { authorize } from '#domain/access/policy.ts';
import type { Caller } from '#domain/access/caller.ts';
import { recordEvent } from '#domain/events/record-event.ts';
import { newId } from '#domain/kernel/ids.ts';
import type { Secrets } from '#domain/kernel/secrets.ts';
import type { UnitOfWork } from '#domain/persistence/unit-of-work.ts';
import { openTenant, type OpenedTenant } from './open-tenant.ts';

/** Opens a tenant for an operator, told of in both tenants' logs. @throws `missing_permission`, `already_exists` */
export async function registerTenant(
  deps: { unitOfWork: UnitOfWork; secrets: Secrets },
  operator: Caller,
  input: { slug: string; name: string },
): Promise<OpenedTenant> {
  authorize(operator, 'tenants.create');
  const id = newId();
  return deps.unitOfWork.inTenant(id, async (em) => {
    const opened = await openTenant({ em, secrets: deps.secrets, origin: operator.origin }, { id, ...input });
    await em.flush();
    // The last word of this transaction stands in the operator's own tenant.
    await em.execute(`select set_config('app.tenant_id', ?, true)`, [operator.tenantId]);
    await recordEvent(em, operator, {
      type: 'system.tenant_created',
      resource: { type: 'tenant', id },
      metadata: { slug: input.slug },
    });
    return opened;
  });
}
