import type { Caller } from '#domain/foundation/access/caller.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { actInTenant } from '#domain/workspace/tenants/act-in-tenant.ts';
import type { CallContext } from './trpc.ts';

/** Context of the call, of a procedure or of a route. */
type Acting = Pick<CallContext, 'deps' | 'request'>;

/** The caller with its tenant-wide permissions. */
export function callerOf({ request }: Pick<Acting, 'request'>): Promise<Caller> {
  return request.inContext(null, async ({ caller }) => caller);
}

/**
 * Runs a use case in the caller's own tenant, or as an operator in the named tenant.
 * @throws `tenant_not_found` unless the caller operates the platform and the tenant exists
 */
export async function inTenantOf<T>(
  call: Acting,
  tenantId: string | null | undefined,
  work: (ctx: Context) => Promise<T>,
): Promise<T> {
  return tenantId == null || tenantId === call.request.identity.tenantId
    ? call.request.inContext(null, work)
    : actInTenant(call.deps, await callerOf(call), tenantId, work);
}
