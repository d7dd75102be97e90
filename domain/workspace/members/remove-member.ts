import { LockMode } from '@mikro-orm/core';
import { announceChange } from '#domain/foundation/access/announce-change.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { requireRoleOfNoMore } from '#domain/identity/roles/find-role.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { withdrawOf } from '#domain/capabilities/connections/withdraw-connections.ts';
import { revokePending } from '#domain/workspace/invites/revoke-pending.ts';
import { inProject } from '#domain/identity/roles/in-project.ts';
import { findCaller } from '#domain/identity/principals/find-principal.ts';
import { Principal } from '#domain/identity/principals/principal.entity.ts';
import { ProjectMember } from '#domain/identity/roles/project-member.entity.ts';
import { findMember, lockMember } from './find-member.ts';
import type { SpaceMember } from '#domain/identity/roles/space-member.entity.ts';

/**
 * Removes a member from the caller's space and its projects. Pending invites to its address into the space are
 * revoked, and its accounts at the space's tool servers disconnected; its tenant-wide roles stay.
 * @throws `missing_permission`, also where a role of the member, in the space or in a project, has a permission that
 *   the caller lacks there; `member_not_found`, and `principal_not_found` for a caller who is being deleted
 */
export async function removeMember(
  ctx: Context,
  input: { id: string } | { principalId: string },
): Promise<SpaceMember> {
  const { caller, em } = ctx;
  authorize(caller, 'members.remove');
  await findCaller(ctx);
  await revokeInvites(ctx, await findMember(ctx, input));
  const member = await lockMember(ctx, input);
  const { id, spaceId, principalId, roleKey: role } = member;
  await requireRoleOfNoMore(ctx, role);
  const inProjects = await em.find(
    ProjectMember,
    { spaceId, principalId },
    { lockMode: LockMode.PESSIMISTIC_WRITE, orderBy: { id: 'asc' } },
  );
  for (const { projectId, roleKey } of inProjects) {
    await requireRoleOfNoMore(await inProject(ctx, projectId), roleKey);
  }
  await em.remove(member).flush();
  await withdrawOf(ctx, { ownerId: principalId, spaceId }, 'member_removed');
  await recordEvent(em, caller, {
    type: 'space.member_removed',
    resource: { type: 'space', id: spaceId },
    metadata: { principal_id: principalId, role, member_id: id },
  });
  await announceChange(em, caller.tenantId);
  return member;
}

/**
 * Locks in the order of accepting an invite and of deleting a principal: the principal, its invites, its membership.
 */
async function revokeInvites(ctx: Context, { principalId, spaceId }: SpaceMember): Promise<void> {
  const lockMode = LockMode.PESSIMISTIC_READ;
  const { email } = await ctx.em.findOneOrFail(Principal, { id: principalId }, { lockMode });
  if (email != null) {
    await revokePending(ctx, { address: email, spaceId });
  }
}
