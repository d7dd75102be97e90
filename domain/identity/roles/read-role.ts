import type { Context } from '#domain/foundation/access/context.ts';
import { findRole } from './find-role.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import type { RoleView } from './role-view.ts';

/** @throws `missing_permission`, `role_not_found` */
export async function readRole(ctx: Context, input: { roleId: string }): Promise<RoleView> {
  authorize(ctx.caller, 'roles.read');
  return findRole(ctx, input.roleId);
}
