import type { FastifyRequest } from 'fastify';
import type { Context } from '#domain/foundation/access/context.ts';
import { isKnown } from '#domain/operations/tenant-deletion/is-known.ts';
import { actInTenant } from '#domain/workspace/tenants/act-in-tenant.ts';
import type { GatewayDependencies } from './compose.ts';
import { callerOf } from './trpc/acting.ts';

/**
 * Runs a use case of a deletion in the caller's own tenant, also while it is to be deleted, or as an operator in the
 * named one, also when it is gone.
 * @throws `tenant_not_found`
 */
export async function inDeletionOf<T>(
  { deps, request }: { deps: GatewayDependencies; request: FastifyRequest },
  tenantId: string,
  work: (ctx: Context) => Promise<T>,
): Promise<T> {
  return tenantId === request.identity.tenantId
    ? request.inContext(null, work, { whileDeleting: true })
    : actInTenant({ ...deps, isKnown }, await callerOf({ request }), tenantId, work);
}
