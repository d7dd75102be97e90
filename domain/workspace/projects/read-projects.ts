import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { spaceOf } from '#domain/foundation/access/space-of.ts';
import type { Page } from '#domain/foundation/kernel/page.ts';
import { keysetPage } from '#domain/foundation/persistence/keyset-list.ts';
import { findProject } from './find-project.ts';
import { inProject } from '#domain/identity/roles/in-project.ts';
import { Project } from './project.entity.ts';

/** The projects of the caller's space, newest first. @throws `missing_permission`, `invalid_cursor` */
export async function listProjects(
  ctx: Context,
  input: { limit: number; cursor: string | null },
): Promise<Page<Project>> {
  authorize(ctx.caller, 'projects.read');
  const spaceId = spaceOf(ctx.caller);
  return keysetPage(ctx, {
    entity: Project,
    where: { spaceId },
    ...input,
    operation: 'projects.list',
    filters: { spaceId },
  });
}

/** @throws `missing_permission`, `project_not_found` */
export async function readProject(outer: Context, input: { projectId: string }): Promise<Project> {
  const ctx = await inProject(outer, input.projectId);
  authorize(ctx.caller, 'projects.read');
  return findProject(ctx, input.projectId);
}
