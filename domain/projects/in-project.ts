import type { Context } from '#domain/access/context.ts';
import { permissionsOf } from '#domain/access/role-permissions.ts';
import { platformOnly } from '#domain/access/permissions.ts';
import { expand } from '#domain/access/policy.ts';
import { spaceOf } from '#domain/access/space-of.ts';
import { ProjectMember } from './project-member.entity.ts';

/** What rights are read with. */
export type Acting = Pick<Context, 'caller' | 'em'>;

/**
 * The same work with what the caller's role in one project adds, read now: tenant ∪ space ∪ project, cut down to
 * the key's own grant. An unknown project adds nothing.
 */
export async function inProject<C extends Acting>(ctx: C, projectId: string): Promise<C> {
  const { caller, em } = ctx;
  const { principalId, keyPermissions } = caller;
  const member = await em.findOne(ProjectMember, { projectId, spaceId: spaceOf(caller), principalId });
  if (member === null) {
    return ctx;
  }
  const held = expand(await permissionsOf(em, member.roleKey));
  const most = keyPermissions === null ? held : expand(keyPermissions);
  const added = [...held].filter((permission) => most.has(permission) && !platformOnly.has(permission));
  return { ...ctx, caller: { ...caller, granted: new Set([...caller.granted, ...added]) } };
}
