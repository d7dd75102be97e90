import type { Context } from '#domain/foundation/access/context.ts';

/**
 * Locks the caller's tenant against other changes until the end of the transaction, so concurrent changes are
 * serialised. Inserts of rows that refer to the tenant are not blocked.
 */
export async function holdTenant({ caller, em }: Context): Promise<void> {
  await em.execute('select from tenants where tenant_id = ? for no key update', [caller.tenantId]);
}
