import { LockMode } from '@mikro-orm/core';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import { findPrincipal } from '#domain/identity/principals/find-principal.ts';
import { announceChange } from '#domain/foundation/access/announce-change.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { findGrantableRole } from '#domain/identity/roles/find-role.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { lockOwners, requireAnotherOwner } from './require-an-owner.ts';
import { RoleAssignment } from '#domain/identity/roles/role-assignment.entity.ts';
import type { RoleView } from '#domain/identity/roles/role-view.ts';

interface Assignment {
  principalId: string;
  roleId: string;
}

/**
 * Gives a principal a tenant-wide role; a repeat changes nothing.
 * @throws `missing_permission`, also where the role holds a permission that the caller lacks; `principal_not_found`,
 *   `role_not_found`, `invalid_request` for a role of spaces or projects
 */
export async function assignRole(ctx: Context, input: Assignment): Promise<RoleView> {
  const { caller, em } = ctx;
  authorize(caller, 'roles.assign');
  const { id: principalId } = await findPrincipal(ctx, input.principalId);
  const role = await findGrantableRole(ctx, { roleId: input.roleId, scope: 'tenant' });
  const made = await em.execute(
    `insert into role_assignments (tenant_id, principal_id, role_key) values (?, ?, ?)
     on conflict do nothing returning role_key`,
    [caller.tenantId, principalId, role.key],
  );
  if (made.length > 0) {
    await recordEvent(em, caller, {
      type: 'security.role_assigned',
      resource: { type: 'principal', id: principalId },
      metadata: { role_id: role.id, role: role.key },
    });
  }
  return role;
}

/**
 * Removes a tenant-wide role of a principal. The caller must hold every permission of the role.
 * @throws `missing_permission`, `principal_not_found`, `role_not_found` also where the principal has no such role,
 *   `invalid_state` for the last owner, and for the role of owners the refusals of `lockOwners`
 */
export async function unassignRole(outer: Context, input: Assignment): Promise<void> {
  authorize(outer.caller, 'roles.assign');
  const role = await findGrantableRole(outer, { roleId: input.roleId, scope: 'tenant' });
  const isOwner = role.key === 'owner';
  const ctx = isOwner ? await lockOwners(outer, ['roles.assign', ...role.permissions]) : outer;
  const { caller, em } = ctx;
  if (isOwner) {
    await requireAnotherOwner(em, input.principalId);
  }
  const { id: principalId } = await findPrincipal(ctx, input.principalId);
  const assignment = await em.findOne(
    RoleAssignment,
    { principalId, roleKey: role.key },
    { lockMode: LockMode.PESSIMISTIC_WRITE },
  );
  if (assignment === null) {
    throw notFound('role_not_found');
  }
  await em.remove(assignment).flush();
  await recordEvent(em, caller, {
    type: 'security.role_unassigned',
    resource: { type: 'principal', id: principalId },
    metadata: { role_id: role.id, role: role.key },
  });
  await announceChange(em, caller.tenantId);
}
