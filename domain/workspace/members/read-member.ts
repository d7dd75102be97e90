import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { roleIds } from '#domain/identity/roles/role-ids.ts';
import { findMember } from './find-member.ts';
import type { MemberView } from './member-view.ts';

/** One member of the caller's space. @throws `missing_permission`, `member_not_found` */
export async function readMember(ctx: Context, input: { memberId: string }): Promise<MemberView> {
  authorize(ctx.caller, 'members.read');
  const member = await findMember(ctx, { id: input.memberId });
  const idOf = await roleIds(ctx.em, [member.roleKey]);
  return { member, roleId: idOf(member.roleKey) };
}
