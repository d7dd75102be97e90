import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { lockProject } from './find-project.ts';
import { inProject } from '#domain/identity/roles/in-project.ts';
import type { Project } from './project.entity.ts';

export interface ProjectChange {
  projectId: string;
  name?: string | undefined;
  description?: string | null | undefined;
}

/** Omitted fields stay unchanged. @throws `missing_permission`, `project_not_found` */
export async function updateProject(outer: Context, input: ProjectChange): Promise<Project> {
  const ctx = await inProject(outer, input.projectId);
  authorize(ctx.caller, 'projects.update');
  const project = await lockProject(ctx, input.projectId);
  const changed: string[] = [];
  if (input.name !== undefined && input.name !== project.name) {
    project.name = input.name;
    changed.push('name');
  }
  if (input.description !== undefined && input.description !== (project.description ?? null)) {
    project.description = input.description;
    changed.push('description');
  }
  if (changed.length > 0) {
    project.updatedAt = await databaseNow(ctx.em);
    await ctx.em.flush();
    await recordEvent(ctx.em, ctx.caller, {
      type: 'space.project_updated',
      resource: { type: 'project', id: project.id },
      changedFields: changed,
      metadata: { space_id: project.spaceId },
    });
  }
  return project;
}
