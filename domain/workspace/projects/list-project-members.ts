import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import type { Page } from '#domain/foundation/kernel/page.ts';
import { keysetPage } from '#domain/foundation/persistence/keyset-list.ts';
import { findProject } from './find-project.ts';
import { inProject } from '#domain/identity/roles/in-project.ts';
import { ProjectMember } from '#domain/identity/roles/project-member.entity.ts';
import { viewProjectMembers, type ProjectMemberView } from './project-member-view.ts';

/** A project's members, newest first. @throws `missing_permission`, `project_not_found`, `invalid_cursor` */
export async function listProjectMembers(
  outer: Context,
  input: { projectId: string; limit: number; cursor: string | null },
): Promise<Page<ProjectMemberView>> {
  const ctx = await inProject(outer, input.projectId);
  authorize(ctx.caller, 'project_members.read');
  const { id: projectId, spaceId } = await findProject(ctx, input.projectId);
  const page = await keysetPage(ctx, {
    entity: ProjectMember,
    where: { spaceId, projectId },
    limit: input.limit,
    cursor: input.cursor,
    operation: 'project_members.list',
    filters: { projectId },
  });
  return { ...page, items: await viewProjectMembers(ctx.em, page.items) };
}
