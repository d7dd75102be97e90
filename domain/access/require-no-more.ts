import { Invite } from '#domain/invites/invite.entity.ts';
import { sentTo } from '#domain/invites/invited-address.ts';
import { databaseNow } from '#domain/persistence/database-now.ts';
import { Principal } from '#domain/principals/principal.entity.ts';
import { inProject } from '#domain/projects/in-project.ts';
import { ProjectMember } from '#domain/projects/project-member.entity.ts';
import { SpaceMember } from '#domain/spaces/space-member.entity.ts';
import { reachesOwn } from './authorize-own.ts';
import type { Caller, Identity } from './caller.ts';
import type { Context } from './context.ts';
import { loadCaller } from './load-caller.ts';
import { permissions, type Permission } from './permissions.ts';
import { expand, refusal } from './policy.ts';
import { permissionsOf } from './role-permissions.ts';

/**
 * Nobody hands out more than they have: everything that `recipient` could do, in the tenant and in each of its
 * spaces and projects, the caller can do too; so with what invites promise it that it could accept. Since what is one's own
 * and what comes later hang on the key alone, a caller whose key is cut down gives a key that is cut down as far.
 * @throws `missing_permission` naming the first that the caller lacks
 */
export async function requireNoMore(ctx: Context, recipient: Identity): Promise<void> {
  const { em, caller } = ctx;
  requireKeyOfNoMore(caller, recipient);
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
  if (principalId !== caller.principalId && reachesOwn(recipient, 'members.add')) {
    await requirePromisesOfNoMore(ctx, principalId);
  }
}

function requireKeyOfNoMore(caller: Caller, { keyPermissions }: Identity): void {
  if (caller.keyPermissions !== null) {
    const missing = firstMissing(expand(keyPermissions ?? permissions), expand(caller.keyPermissions));
    if (missing !== null) {
      throw refusal(caller, [missing], missing);
    }
  }
}

async function requirePromisesOfNoMore({ em, caller }: Context, principalId: string): Promise<void> {
  const { email } = await em.findOneOrFail(Principal, { id: principalId });
  if (email == null) {
    return;
  }
  const standing = { status: 'pending', expiresAt: { $gt: await databaseNow(em) } } as const;
  for (const { spaceId, roleKey } of await em.find(Invite, { ...sentTo(email), ...standing })) {
    const own = await loadCaller(em, caller, caller.origin, spaceId);
    const missing = firstMissing(expand(await permissionsOf(em, roleKey)), own.granted);
    if (missing !== null) {
      throw refusal(own, [missing], missing);
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
