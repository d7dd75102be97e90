import type { z } from 'zod';
import type { memberRecord } from '#api/contract/administration.ts';
import type {
  inviteRecord,
  ownInviteRecord,
  projectMemberRecord,
  projectRecord,
} from '#api/contract/workspace.ts';
import type { InviteView } from '#domain/workspace/invites/invite-view.ts';
import type { OwnInvite } from '#domain/workspace/invites/list-own-invites.ts';
import type { ProjectMemberView } from '#domain/workspace/projects/project-member-view.ts';
import type { Project } from '#domain/workspace/projects/project.entity.ts';
import type { MemberView } from '#domain/workspace/members/member-view.ts';

export function presentMember({ member, roleId }: MemberView): z.infer<typeof memberRecord> {
  return {
    id: member.id,
    space_id: member.spaceId,
    principal_id: member.principalId,
    role_id: roleId,
    role: member.roleKey,
    created_at: member.createdAt.toISOString(),
  };
}

export function presentProject(project: Project): z.infer<typeof projectRecord> {
  return {
    id: project.id,
    space_id: project.spaceId,
    name: project.name,
    description: project.description ?? null,
    created_by: project.createdBy,
    created_at: project.createdAt.toISOString(),
    updated_at: project.updatedAt.toISOString(),
  };
}

export function presentProjectMember({
  member,
  roleId,
}: ProjectMemberView): z.infer<typeof projectMemberRecord> {
  return {
    id: member.id,
    project_id: member.projectId,
    principal_id: member.principalId,
    role_id: roleId,
    role: member.roleKey,
    created_at: member.createdAt.toISOString(),
  };
}

export function presentInvite({ invite, status, roleId }: InviteView): z.infer<typeof inviteRecord> {
  return {
    id: invite.id,
    space_id: invite.spaceId,
    email: invite.email ?? null,
    role_id: roleId,
    role: invite.roleKey,
    status,
    invited_by: invite.invitedBy,
    answered_by: invite.answeredBy ?? null,
    answered_at: invite.answeredAt?.toISOString() ?? null,
    expires_at: invite.expiresAt.toISOString(),
    created_at: invite.createdAt.toISOString(),
  };
}

export function presentOwnInvite({ invite, spaceName }: OwnInvite): z.infer<typeof ownInviteRecord> {
  return {
    id: invite.id,
    space_id: invite.spaceId,
    space_name: spaceName,
    role: invite.roleKey,
    status: 'pending',
    expires_at: invite.expiresAt.toISOString(),
    created_at: invite.createdAt.toISOString(),
  };
}
