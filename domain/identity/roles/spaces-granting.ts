import type { Context } from '#domain/foundation/access/context.ts';
import type { Permission } from '#domain/foundation/access/permissions.ts';
import { expand } from '#domain/foundation/access/policy.ts';
import { builtInRoles } from '#domain/foundation/access/roles.ts';
import { own } from '#domain/foundation/kernel/own.ts';
import { Role } from './role.entity.ts';
import { SpaceMember } from './space-member.entity.ts';

/** The spaces in which the caller's membership grants `permission`. Tenant roles and the key are not considered. */
export async function spacesGranting(ctx: Context, permission: Permission): Promise<string[]> {
  const memberships = await ctx.em.find(SpaceMember, { principalId: ctx.caller.principalId });
  const custom = await ctx.em.find(Role, { key: { $in: memberships.map(({ roleKey }) => roleKey) } });
  const permissionsOf = new Map(custom.map(({ key, permissions }) => [key, permissions]));
  return memberships
    .filter(({ roleKey }) =>
      expand(own(builtInRoles, roleKey) ?? permissionsOf.get(roleKey) ?? []).has(permission),
    )
    .map(({ spaceId }) => spaceId);
}
