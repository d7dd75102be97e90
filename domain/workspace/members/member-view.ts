import type { EntityManager } from '@mikro-orm/postgresql';
import { roleIds } from '#domain/identity/roles/role-ids.ts';
import type { SpaceMember } from '#domain/identity/roles/space-member.entity.ts';

/** A membership with the id of its role. */
export interface MemberView {
  member: SpaceMember;
  roleId: string;
}

export async function viewMembers(em: EntityManager, members: readonly SpaceMember[]): Promise<MemberView[]> {
  const idOf = await roleIds(
    em,
    members.map(({ roleKey }) => roleKey),
  );
  return members.map((member) => ({ member, roleId: idOf(member.roleKey) }));
}
