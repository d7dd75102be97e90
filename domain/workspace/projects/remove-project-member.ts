import { announceChange } from '#domain/foundation/access/announce-change.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { requireRoleOfNoMore } from '#domain/identity/roles/find-role.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { findCaller } from '#domain/identity/principals/find-principal.ts';
import { findProject } from './find-project.ts';
import { inProject } from '#domain/identity/roles/in-project.ts';
import { lockProjectMember } from './project-member-view.ts';

/**
 * Removes a member from a project; the membership of the space stays.
 * @throws `missing_permission`, also where the member's role has a permission that the caller lacks there;
 *   `project_not_found`, `member_not_found`, and `principal_not_found` for a caller who is being deleted
 */
export async function removeProjectMember(
  outer: Context,
  input: { projectId: string; memberId: string },
): Promise<void> {
  const ctx = await inProject(outer, input.projectId);
  const { caller, em } = ctx;
  authorize(caller, 'project_members.remove');
  const { id: projectId } = await findProject(ctx, input.projectId);
  await findCaller(ctx);
  const member = await lockProjectMember(ctx, { projectId, id: input.memberId });
  const { id, spaceId, principalId, roleKey: role } = member;
  await requireRoleOfNoMore(ctx, role);
  await em.remove(member).flush();
  await recordEvent(em, caller, {
    type: 'space.project_member_removed',
    resource: { type: 'project', id: projectId },
    metadata: { space_id: spaceId, principal_id: principalId, role, member_id: id },
  });
  await announceChange(em, caller.tenantId);
}
