import { inProject } from '#domain/projects/in-project.ts';
import { ProjectMember } from '#domain/projects/project-member.entity.ts';
import { SpaceMember } from '#domain/spaces/space-member.entity.ts';
import type { Caller, Identity } from './caller.ts';
import type { Context } from './context.ts';
import { loadCaller } from './load-caller.ts';
import type { Permission } from './permissions.ts';
import { refusal } from './policy.ts';

/**
 * Nobody hands out more than they have: everything that `recipient` could do, in the tenant and in each of its
 * spaces and projects, the caller can do too. @throws `missing_permission` naming the first that the caller lacks
 */
export async function requireNoMore(ctx: Context, recipient: Identity): Promise<void> {
  const { em, caller } = ctx;
  const { principalId } = recipient;
  const memberships = await em.find(SpaceMember, { principalId });
  const projects = await em.find(ProjectMember, { principalId });
  for (const spaceId of [null, ...memberships.map((member) => member.spaceId)]) {
    const theirs = await loadCaller(em, recipient, caller.origin, spaceId);
    const own = await loadCaller(em, caller, caller.origin, spaceId);
    requireCovered(theirs, own);
    for (const { projectId } of projects.filter((member) => member.spaceId === spaceId)) {
      const there = await inProject({ ...ctx, caller: theirs }, projectId);
      requireCovered(there.caller, (await inProject({ ...ctx, caller: own }, projectId)).caller);
    }
  }
}

function requireCovered(theirs: Caller, own: Caller): void {
  const missing = firstMissing(theirs.granted, own.granted);
  if (missing !== null) {
    throw refusal(own, [missing], missing);
  }
}

export function firstMissing(wanted: Iterable<Permission>, held: ReadonlySet<Permission>): Permission | null {
  for (const permission of wanted) {
    if (!held.has(permission)) {
      return permission;
    }
  }
  return null;
}
