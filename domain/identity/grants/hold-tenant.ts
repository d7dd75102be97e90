import type { Context } from '#domain/foundation/access/context.ts';

/**
 * Waits for the tenant that the caller acts in, and keeps it from other changes until the end of the transaction. Of
 * several who do it at once one does; whoever adds a row of the tenant is not waited for.
 */
export async function holdTenant({ caller, em }: Context): Promise<void> {
  await em.execute('select from tenants where tenant_id = ? for no key update', [caller.tenantId]);
}
