import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { announceChange } from '#domain/foundation/access/announce-change.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { findEditableRole, requireAll } from './find-role.ts';
import type { Permission } from '#domain/foundation/access/permissions.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { viewRole, type RoleView } from './role-view.ts';

/**
 * Replaces the permissions of a role, for all of its holders, from their next request on. The caller must hold every
 * added permission tenant-wide.
 * @throws `missing_permission`, `role_not_found`, `invalid_state` for a built-in role
 */
export async function setRolePermissions(
  ctx: Context,
  input: { roleId: string; permissions: readonly Permission[] },
): Promise<RoleView> {
  const { caller, em } = ctx;
  authorize(caller, 'roles.update');
  const role = await findEditableRole(ctx, input.roleId);
  const wanted = [...new Set(input.permissions)].sort();
  const had = new Set(role.permissions);
  const added = wanted.filter((permission) => !had.has(permission));
  requireAll(caller, added);
  const removed = role.permissions.filter((permission) => !wanted.includes(permission as Permission));
  if (added.length + removed.length > 0) {
    role.permissions = wanted;
    await em.flush();
    await recordEvent(em, caller, {
      type: 'security.role_updated',
      resource: { type: 'role', id: role.id },
      changedFields: ['permissions'],
      metadata: { added: added.join(','), removed: removed.join(',') },
    });
    await announceChange(em, caller.tenantId);
  }
  return viewRole(role);
}
