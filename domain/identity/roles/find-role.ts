import { LockMode } from '@mikro-orm/core';
import { DomainError, invalid, notFound } from '#domain/foundation/kernel/errors.ts';
import type { Caller } from '#domain/foundation/access/caller.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { expand, refusal } from '#domain/foundation/access/policy.ts';
import { firstMissing } from './require-no-more.ts';
import { builtInKey } from './role-ids.ts';
import { viewBuiltIn, viewRole, type RoleScope, type RoleView } from './role-view.ts';
import { Role } from './role.entity.ts';
import { permissionsOf } from './role-permissions.ts';

/** @throws `role_not_found`, also for another tenant's */
export async function findRole(ctx: Context, roleId: string): Promise<RoleView> {
  const key = builtInKey(roleId);
  return key === undefined ? viewRole(await findOwnRole(ctx, roleId)) : viewBuiltIn(key);
}

/** One of the tenant's own roles, locked for a change. @throws `role_not_found`, `invalid_state` for a built-in one */
export async function findEditableRole(ctx: Context, roleId: string): Promise<Role> {
  if (builtInKey(roleId) !== undefined) {
    throw new DomainError('invalid_state', 'A built-in role cannot be changed.');
  }
  return findOwnRole(ctx, roleId, LockMode.PESSIMISTIC_WRITE);
}

/**
 * A role that the caller may grant: a caller grants only permissions that it holds. Locked until the end of the
 * transaction, so that it is neither extended nor deleted meanwhile.
 * @throws `role_not_found`, `invalid_request` for a built-in role of another scope, `missing_permission`
 */
export async function findGrantableRole(
  ctx: Context,
  input: { roleId: string; scope: RoleScope },
): Promise<RoleView> {
  const key = builtInKey(input.roleId);
  const role =
    key === undefined
      ? viewRole(await findOwnRole(ctx, input.roleId, LockMode.PESSIMISTIC_READ))
      : viewBuiltIn(key);
  if (role.scope !== null && role.scope !== input.scope) {
    throw invalid('role_id', `This role cannot be given in a ${input.scope}.`);
  }
  requireAll(ctx.caller, role.permissions);
  return role;
}

/**
 * A caller revokes only permissions that it holds. Checks the role of a principal by the key that rows store.
 * @throws `missing_permission`
 */
export async function requireRoleOfNoMore({ caller, em }: Context, roleKey: string): Promise<void> {
  requireAll(caller, await permissionsOf(em, roleKey));
}

/** @throws `missing_permission` with the first of `names`, or of what they imply, that the caller lacks */
export function requireAll(caller: Caller, names: readonly string[]): void {
  const missing = firstMissing(expand(names), caller.granted);
  if (missing !== null) {
    throw refusal(caller, [missing], missing);
  }
}

async function findOwnRole(ctx: Context, id: string, lockMode?: LockMode): Promise<Role> {
  const role = await ctx.em.findOne(Role, { id }, lockMode === undefined ? {} : { lockMode });
  if (role === null) {
    throw notFound('role_not_found');
  }
  return role;
}
