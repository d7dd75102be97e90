import { LockMode } from '@mikro-orm/core';
import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { spaceOf } from '#domain/foundation/access/space-of.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { claimKey, type IdempotentRequest } from '#domain/foundation/idempotency/idempotency.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { SpaceMember } from '#domain/identity/roles/space-member.entity.ts';
import { findProject } from './find-project.ts';
import { ProjectMember } from '#domain/identity/roles/project-member.entity.ts';
import { Project } from './project.entity.ts';

export interface NewProject {
  name: string;
  description: string | null;
  idempotency?: IdempotentRequest | null;
}

/**
 * Creates a project in the caller's space. A creator who is a member of the space becomes its administrator; others,
 * such as a tenant's owner, need no role in it.
 * @throws `missing_permission`, and the refusals of `claimKey`
 */
export async function createProject(
  ctx: Context,
  input: NewProject,
): Promise<{ project: Project; replayed: boolean }> {
  const { caller, em } = ctx;
  authorize(caller, 'projects.create');
  const id = newId();
  const claimed = input.idempotency ? await claimKey(ctx, input.idempotency, id) : id;
  if (claimed !== id) {
    return { project: await findProject(ctx, claimed), replayed: true };
  }
  const { tenantId, principalId } = caller;
  const spaceId = spaceOf(caller);
  const { name, description } = input;
  const project = em.create(Project, { tenantId, id, spaceId, name, description, createdBy: principalId });
  await em.flush();
  const place = await em.findOne(
    SpaceMember,
    { spaceId, principalId },
    { lockMode: LockMode.PESSIMISTIC_READ },
  );
  if (place !== null) {
    const membership = { tenantId, id: newId(), spaceId, projectId: id, principalId };
    em.create(ProjectMember, { ...membership, roleKey: 'project_admin' });
    await em.flush();
  }
  await recordEvent(em, caller, {
    type: 'space.project_created',
    resource: { type: 'project', id },
    metadata: { space_id: spaceId },
  });
  return { project: await em.refreshOrFail(project), replayed: false };
}
