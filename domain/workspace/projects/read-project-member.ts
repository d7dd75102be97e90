import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { roleIds } from '#domain/identity/roles/role-ids.ts';
import { findProject } from './find-project.ts';
import { inProject } from '#domain/identity/roles/in-project.ts';
import { findProjectMember, type ProjectMemberView } from './project-member-view.ts';

/** One member of a project. @throws `missing_permission`, `project_not_found`, `member_not_found` */
export async function readProjectMember(
  outer: Context,
  input: { projectId: string; memberId: string },
): Promise<ProjectMemberView> {
  const ctx = await inProject(outer, input.projectId);
  authorize(ctx.caller, 'project_members.read');
  const { id: projectId } = await findProject(ctx, input.projectId);
  const member = await findProjectMember(ctx, { projectId, id: input.memberId });
  const idOf = await roleIds(ctx.em, [member.roleKey]);
  return { member, roleId: idOf(member.roleKey) };
}
