import type { EntityManager } from '@mikro-orm/postgresql';
import { DomainError, invalidCredentials } from '#domain/foundation/kernel/errors.ts';
import { Principal } from '#domain/identity/principals/principal.entity.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { requireAll } from '#domain/identity/roles/find-role.ts';
import { holdTenant } from './hold-tenant.ts';
import { loadCaller } from '#domain/foundation/access/load-caller.ts';
import { reloadIdentity } from './reload-identity.ts';

/**
 * Waits in the line of those who take owners away, or change principals at all: two owners cannot be taken away at
 * once. Asked before a principal is locked for a change, always, so that two who change each other wait for one another
 * in one order. The line is the tenant itself, which is there whoever owns it.
 * @returns the same work with what the caller may do when it is its turn
 * @throws `missing_permission` where `needed` was taken from it meanwhile, `principal_disabled`, and
 *   `invalid_credentials` for a caller who is deleted by then, or whose key or session has ended
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
 * A tenant that nobody owns could never be deleted or given back its rights: the last active owner stays. Asked
 * behind `lockOwners`.
 * @throws `invalid_state` when `principalId` is the last one
 */
export async function requireAnotherOwner(em: EntityManager, principalId: string): Promise<void> {
  // By a statement of its own: one that waits for the locks still sees as active whom the other has just disabled.
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
