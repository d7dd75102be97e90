import { LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { Context } from '#domain/foundation/access/context.ts';
import { roleIds } from '#domain/identity/roles/role-ids.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import { ProjectMember } from '#domain/identity/roles/project-member.entity.ts';

/** A membership of a project with the id of its role. */
export interface ProjectMemberView {
  member: ProjectMember;
  roleId: string;
}

export async function viewProjectMembers(
  em: EntityManager,
  members: readonly ProjectMember[],
): Promise<ProjectMemberView[]> {
  const idOf = await roleIds(
    em,
    members.map(({ roleKey }) => roleKey),
  );
  return members.map((member) => ({ member, roleId: idOf(member.roleKey) }));
}

interface ProjectMemberRef {
  projectId: string;
  id: string;
}

/** @throws `member_not_found`, also for a member of another project */
export async function findProjectMember(
  ctx: Context,
  where: ProjectMemberRef,
  lockMode?: LockMode,
): Promise<ProjectMember> {
  const member = await ctx.em.findOne(ProjectMember, where, lockMode === undefined ? {} : { lockMode });
  if (member === null) {
    throw notFound('member_not_found');
  }
  return member;
}

/** Like `findProjectMember`, locked for a change. */
export function lockProjectMember(ctx: Context, where: ProjectMemberRef): Promise<ProjectMember> {
  return findProjectMember(ctx, where, LockMode.PESSIMISTIC_WRITE);
}
