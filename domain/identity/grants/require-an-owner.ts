import type { EntityManager } from '@mikro-orm/postgresql';
import { DomainError, invalidCredentials } from '#domain/foundation/kernel/errors.ts';
import { Principal } from '#domain/identity/principals/principal.entity.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { requireAll } from '#domain/identity/roles/find-role.ts';
import { holdTenant } from './hold-tenant.ts';
import { loadCaller } from '#domain/foundation/access/load-caller.ts';
import { reloadIdentity } from './reload-identity.ts';

/**
 * Serialises changes of owners and of principals: two owners cannot be removed concurrently. Always called before a
 * principal is locked for a change, so that two principals who change each other take their locks in one order. The
 * lock is the tenant's row, which exists whatever its owners.
 * @returns the same work with the caller's permissions after the wait
 * @throws `missing_permission` when the caller lost one of `needed` meanwhile, `principal_disabled`, and
 *   `invalid_credentials` for a caller who was deleted, or whose key or session has ended
 */
export async function lockOwners(ctx: Context, needed: readonly string[]): Promise<Context> {
  const { em } = ctx;
  await holdTenant(ctx);
  if ((await em.count(Principal, { id: ctx.caller.principalId, deletedAt: null })) === 0) {
    throw invalidCredentials();
  }
  const identity = await reloadIdentity(em, ctx.caller);
  const caller = await loadCaller(em, identity, ctx.caller.origin, ctx.caller.spaceId);
  requireAll(caller, needed);
  return { ...ctx, caller };
}

/**
 * The last active owner stays: a tenant without owners could never be deleted or regain its permissions. Called after
 * `lockOwners`.
 * @throws `invalid_state` when `principalId` is the last owner
 */
export async function requireAnotherOwner(em: EntityManager, principalId: string): Promise<void> {
  // A statement of its own: a statement that waits for the locks would still read as active a principal that was
  // disabled concurrently.
  const owners = await em.execute<{ is_asked: boolean }[]>(
    `select a.principal_id = ?::uuid as is_asked from role_assignments a
     join principals p on p.tenant_id = a.tenant_id and p.id = a.principal_id
     where a.role_key = 'owner' and p.status = 'active' limit 2`,
    [principalId],
  );
  if (owners.length === 1 && owners[0]?.is_asked === true) {
    throw new DomainError('invalid_state', 'The last owner of a tenant stays.');
  }
}
