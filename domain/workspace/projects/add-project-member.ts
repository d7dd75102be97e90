import { LockMode } from '@mikro-orm/core';
import type { Context } from '#domain/foundation/access/context.ts';
import { findGrantableRole } from '#domain/identity/roles/find-role.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { claimKey, type IdempotentRequest } from '#domain/foundation/idempotency/idempotency.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { mapUniqueViolation } from '#domain/foundation/persistence/map-unique-violation.ts';
import { findPrincipal } from '#domain/identity/principals/find-principal.ts';
import { SpaceMember } from '#domain/identity/roles/space-member.entity.ts';
import { findProject } from './find-project.ts';
import { inProject } from '#domain/identity/roles/in-project.ts';
import { ProjectMember } from '#domain/identity/roles/project-member.entity.ts';
import { lockProjectMember, viewProjectMembers, type ProjectMemberView } from './project-member-view.ts';

export interface NewProjectMember {
  projectId: string;
  principalId: string;
  roleId: string;
  idempotency?: IdempotentRequest | null;
}

/**
 * Gives a member of the caller's space a role in a project.
 * @throws `missing_permission`, also for a role with a permission that the caller lacks there; `project_not_found`,
 *   `principal_not_found`, `role_not_found`, `invalid_state` for a principal that is no member of the space,
 *   `already_exists`, and the refusals of `claimKey`
 */
export async function addProjectMember(
  outer: Context,
  input: NewProjectMember,
): Promise<ProjectMemberView & { replayed: boolean }> {
  const ctx = await inProject(outer, input.projectId);
  const { caller, em } = ctx;
  authorize(caller, 'project_members.add');
  const { id: projectId, spaceId } = await findProject(ctx, input.projectId, LockMode.PESSIMISTIC_READ);
  const id = newId();
  const claimed = input.idempotency ? await claimKey(ctx, input.idempotency, id) : id;
  if (claimed !== id) {
    const [known] = await viewProjectMembers(em, [await lockProjectMember(ctx, { projectId, id: claimed })]);
    if (known !== undefined) {
      return { ...known, replayed: true };
    }
  }
  const { id: principalId } = await findPrincipal(ctx, input.principalId);
  const role = await findGrantableRole(ctx, { roleId: input.roleId, scope: 'project' });
  const place = await em.findOne(
    SpaceMember,
    { spaceId, principalId },
    { lockMode: LockMode.PESSIMISTIC_READ },
  );
  if (place === null) {
    throw new DomainError('invalid_state', 'This principal is not a member of the space.', {
      param: 'principal_id',
    });
  }
  const { tenantId } = caller;
  const member = em.create(ProjectMember, {
    tenantId,
    id,
    spaceId,
    projectId,
    principalId,
    roleKey: role.key,
  });
  await em.flush().catch(mapUniqueViolation('This principal is a member already.', 'principal_id'));
  await recordEvent(em, caller, {
    type: 'space.project_member_added',
    resource: { type: 'project', id: projectId },
    metadata: { space_id: spaceId, principal_id: principalId, role: role.key, member_id: id },
  });
  return { member: await em.refreshOrFail(member), roleId: role.id, replayed: false };
}
