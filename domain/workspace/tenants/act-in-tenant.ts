import type { Caller } from '#domain/foundation/access/caller.ts';
import { createContext, type Context } from '#domain/foundation/access/context.ts';
import { crossTenantPermissions } from '#domain/foundation/access/permissions.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { Tenant } from './tenant.entity.ts';

/**
 * Runs one use case in another tenant for an operator of the platform, behind that tenant's wall. Of what the
 * operator may do, only what touches nobody's content counts there.
 * @throws `tenant_not_found`, to everybody else as for a tenant that never was
 */
export async function actInTenant<T>(
  deps: { unitOfWork: UnitOfWork; secrets: Secrets },
  operator: Caller,
  tenantId: string,
  work: (ctx: Context) => Promise<T>,
): Promise<T> {
  if (!operator.isPlatform) {
    throw notFound('tenant_not_found');
  }
  return deps.unitOfWork.inTenant(tenantId, async (em) => {
    if ((await em.count(Tenant, { id: tenantId }, { filters: false })) === 0) {
      throw notFound('tenant_not_found');
    }
    const granted = new Set(
      [...operator.granted].filter((permission) => crossTenantPermissions.has(permission)),
    );
    const caller: Caller = { ...operator, tenantId, spaceId: null, granted };
    return work(createContext({ caller, em, secrets: deps.secrets }));
  });
}
