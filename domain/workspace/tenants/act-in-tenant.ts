import type { EntityManager } from '@mikro-orm/postgresql';
import type { Caller } from '#domain/foundation/access/caller.ts';
import { createContext, type Context } from '#domain/foundation/access/context.ts';
import { crossTenantPermissions } from '#domain/foundation/access/permissions.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { tenantExists } from './tenant-exists.ts';

/**
 * Runs one use case in another tenant for an operator of the platform, under that tenant's row-level security. Of the
 * operator's permissions, only those that touch no content apply there.
 * @param isKnown of `deps`: what tells a known tenant from an unknown one; that it exists where nothing is given
 * @throws `tenant_not_found`, for callers other than operators the same as for an unknown tenant
 */
export async function actInTenant<T>(
  deps: {
    unitOfWork: UnitOfWork;
    secrets: Secrets;
    isKnown?: (em: EntityManager, tenantId: string) => Promise<boolean>;
  },
  operator: Caller,
  tenantId: string,
  work: (ctx: Context) => Promise<T>,
): Promise<T> {
  if (!operator.isPlatform) {
    throw notFound('tenant_not_found');
  }
  const isKnown = deps.isKnown ?? tenantExists;
  return deps.unitOfWork.inTenant(tenantId, async (em) => {
    if (!(await isKnown(em, tenantId))) {
      throw notFound('tenant_not_found');
    }
    const granted = new Set(
      [...operator.granted].filter((permission) => crossTenantPermissions.has(permission)),
    );
    const caller: Caller = { ...operator, tenantId, spaceId: null, granted };
    return work(createContext({ caller, em, secrets: deps.secrets }));
  });
}
