import { authorizeOwn } from '#domain/foundation/access/authorize-own.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { expand } from '#domain/foundation/access/policy.ts';
import { Role } from '#domain/identity/roles/role.entity.ts';
import { builtInRoles } from '#domain/foundation/access/roles.ts';
import { own } from '#domain/foundation/kernel/own.ts';
import type { Page } from '#domain/foundation/kernel/page.ts';
import { keysetPage } from '#domain/foundation/persistence/keyset-list.ts';
import { SpaceMember } from '#domain/identity/roles/space-member.entity.ts';
import { Space } from './space.entity.ts';

/**
 * Newest first: the tenant's spaces; without a tenant-wide `spaces.read`, those whose membership grants it to the
 * caller.
 * @throws `missing_permission` for a key without it, `invalid_cursor`
 */
export async function listSpaces(
  ctx: Context,
  input: { limit: number; cursor: string | null },
): Promise<Page<Space>> {
  const { granted, principalId } = ctx.caller;
  authorizeOwn(ctx.caller, 'spaces.read', principalId);
  const isWhole = granted.has('spaces.read');
  return keysetPage(ctx, {
    entity: Space,
    where: isWhole ? {} : { id: { $in: await readableSpaces(ctx) } },
    ...input,
    operation: 'spaces.list',
    filters: isWhole ? {} : { principalId },
  });
}

async function readableSpaces(ctx: Context): Promise<string[]> {
  const memberships = await ctx.em.find(SpaceMember, { principalId: ctx.caller.principalId });
  const custom = await ctx.em.find(Role, { key: { $in: memberships.map(({ roleKey }) => roleKey) } });
  const permissionsOf = new Map(custom.map(({ key, permissions }) => [key, permissions]));
  return memberships
    .filter(({ roleKey }) =>
      expand(own(builtInRoles, roleKey) ?? permissionsOf.get(roleKey) ?? []).has('spaces.read'),
    )
    .map(({ spaceId }) => spaceId);
}
