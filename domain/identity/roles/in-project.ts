import type { Context } from '#domain/foundation/access/context.ts';
import { permissionsOf } from './role-permissions.ts';
import { platformOnly, type Permission } from '#domain/foundation/access/permissions.ts';
import { expand } from '#domain/foundation/access/policy.ts';
import { spaceOf } from '#domain/foundation/access/space-of.ts';
import { ProjectMember } from './project-member.entity.ts';

/** The context needed to read permissions. */
export type Acting = Pick<Context, 'caller' | 'em'>;

/**
 * The same context with the permissions of the caller's role in one project added, read now: tenant ∪ space ∪
 * project, restricted to the key's own grant. An unknown project adds nothing.
 */
export async function inProject<C extends Acting>(ctx: C, projectId: string): Promise<C> {
  return (await inProjects(ctx, [projectId])).get(projectId) ?? ctx;
}

/** Like `inProject` for several projects, by their ids. Projects that add nothing are omitted. */
export async function inProjects<C extends Acting>(
  ctx: C,
  projectIds: readonly string[],
): Promise<ReadonlyMap<string, C>> {
  const { caller, em } = ctx;
  const { principalId } = caller;
  const members =
    projectIds.length === 0
      ? []
      : await em.find(ProjectMember, { projectId: [...projectIds], spaceId: spaceOf(caller), principalId });
  const byRole = new Map<string, ReadonlySet<Permission>>();
  for (const roleKey of new Set(members.map((member) => member.roleKey))) {
    byRole.set(roleKey, new Set([...caller.granted, ...(await addedBy(ctx, roleKey))]));
  }
  return new Map(
    members.map(({ projectId, roleKey }) => {
      const granted = byRole.get(roleKey) ?? caller.granted;
      return [projectId, { ...ctx, caller: { ...caller, granted } }];
    }),
  );
}

async function addedBy({ caller, em }: Acting, roleKey: string): Promise<Permission[]> {
  const held = expand(await permissionsOf(em, roleKey));
  const max = caller.keyPermissions === null ? held : expand(caller.keyPermissions);
  return [...held].filter((permission) => max.has(permission) && !platformOnly.has(permission));
}
