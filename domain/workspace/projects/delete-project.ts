import { announceChange } from '#domain/foundation/access/announce-change.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { beginErasure } from '#domain/foundation/erasures/begin-erasure.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { findCaller } from '#domain/identity/principals/find-principal.ts';
import { lockProject } from './find-project.ts';
import { inProject } from '#domain/identity/roles/in-project.ts';
import { ProjectMember } from '#domain/identity/roles/project-member.entity.ts';

/**
 * Deletes a project: from the commit on nobody finds it, its members have no roles in it, and what was created in it
 * stays in the space and names no project. Its rows are erased afterwards.
 * @throws `missing_permission`, `project_not_found`, and `principal_not_found` for a caller who is being deleted
 */
export async function deleteProject(outer: Context, input: { projectId: string }): Promise<void> {
  const ctx = await inProject(outer, input.projectId);
  authorize(ctx.caller, 'projects.delete');
  await findCaller(ctx);
  const { id, spaceId, name } = await lockProject(ctx, input.projectId);
  const members = await ctx.em.count(ProjectMember, { projectId: id });
  await beginErasure(ctx, 'project', id);
  await recordEvent(ctx.em, ctx.caller, {
    type: 'space.project_deleted',
    resource: { type: 'project', id },
    metadata: { space_id: spaceId, name, members },
  });
  await announceChange(ctx.em, ctx.caller.tenantId);
}
