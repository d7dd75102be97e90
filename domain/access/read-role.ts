import type { Context } from './context.ts';
import { findRole } from './find-role.ts';
import { authorize } from './policy.ts';
import type { RoleView } from './role-view.ts';

/** @throws `missing_permission`, `role_not_found` */
export async function readRole(ctx: Context, input: { roleId: string }): Promise<RoleView> {
  authorize(ctx.caller, 'roles.read');
  return findRole(ctx, input.roleId);
}
