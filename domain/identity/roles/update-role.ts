import { recordEvent } from '#domain/foundation/events/record-event.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { findEditableRole } from './find-role.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { viewRole, type RoleView } from './role-view.ts';

export interface RoleChange {
  roleId: string;
  name?: string | undefined;
  description?: string | null | undefined;
}

/**
 * Omitted fields stay unchanged. @throws `missing_permission`, `role_not_found`, `invalid_state` for a built-in role
 */
export async function updateRole(ctx: Context, input: RoleChange): Promise<RoleView> {
  authorize(ctx.caller, 'roles.update');
  const role = await findEditableRole(ctx, input.roleId);
  const changed: string[] = [];
  if (input.name !== undefined && input.name !== role.name) {
    role.name = input.name;
    changed.push('name');
  }
  if (input.description !== undefined && input.description !== (role.description ?? null)) {
    role.description = input.description;
    changed.push('description');
  }
  if (changed.length > 0) {
    await ctx.em.flush();
    await recordEvent(ctx.em, ctx.caller, {
      type: 'security.role_updated',
      resource: { type: 'role', id: role.id },
      changedFields: changed,
    });
  }
  return viewRole(role);
}
