import { findPrincipal } from '#domain/identity/principals/find-principal.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { isBuiltIn } from '#domain/identity/roles/role-ids.ts';
import { viewBuiltIn, viewRole, type RoleView } from '#domain/identity/roles/role-view.ts';
import { RoleAssignment } from '#domain/identity/roles/role-assignment.entity.ts';
import { Role } from '#domain/identity/roles/role.entity.ts';

/** A principal's tenant-wide roles, by key. @throws `missing_permission`, `principal_not_found` */
export async function listAssignedRoles(ctx: Context, input: { principalId: string }): Promise<RoleView[]> {
  authorize(ctx.caller, 'roles.read');
  const { id: principalId } = await findPrincipal(ctx, input.principalId);
  const assignments = await ctx.em.find(RoleAssignment, { principalId });
  const keys = assignments.map(({ roleKey }) => roleKey);
  const own = await ctx.em.find(Role, { key: { $in: keys.filter((key) => !isBuiltIn(key)) } });
  return [...keys.filter(isBuiltIn).map(viewBuiltIn), ...own.map(viewRole)].sort((a, b) =>
    a.key < b.key ? -1 : 1,
  );
}
