import { announceChange } from '#domain/foundation/access/announce-change.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { findGrantableRole, requireRoleOfNoMore } from '#domain/identity/roles/find-role.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { findCaller } from '#domain/identity/principals/find-principal.ts';
import { findProject } from './find-project.ts';
import { inProject } from '#domain/identity/roles/in-project.ts';
import { lockProjectMember, type ProjectMemberView } from './project-member-view.ts';

/**
 * Gives a member of a project another role there.
 * @throws `missing_permission`, also when the new or the present role has a permission that the caller lacks there;
 *   `project_not_found`, `member_not_found`, `role_not_found`, and `principal_not_found` for a caller who is being
 *   deleted
 */
export async function changeProjectRole(
  outer: Context,
  input: { projectId: string; memberId: string; roleId: string },
): Promise<ProjectMemberView> {
  const ctx = await inProject(outer, input.projectId);
  const { caller, em } = ctx;
  authorize(caller, 'project_members.update');
  const { id: projectId } = await findProject(ctx, input.projectId);
  await findCaller(ctx);
  const member = await lockProjectMember(ctx, { projectId, id: input.memberId });
  const role = await findGrantableRole(ctx, { roleId: input.roleId, scope: 'project' });
  const before = member.roleKey;
  if (before !== role.key) {
    await requireRoleOfNoMore(ctx, before);
    member.roleKey = role.key;
    await em.flush();
    await recordEvent(em, caller, {
      type: 'space.project_role_changed',
      resource: { type: 'project', id: projectId },
      metadata: {
        space_id: member.spaceId,
        principal_id: member.principalId,
        role: role.key,
        before,
        member_id: member.id,
      },
    });
    await announceChange(em, caller.tenantId);
  }
  return { member, roleId: role.id };
}
