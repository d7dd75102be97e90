import { announceChange } from '#domain/foundation/access/announce-change.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { findGrantableRole, requireRoleOfNoMore } from '#domain/identity/roles/find-role.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { findCaller } from '#domain/identity/principals/find-principal.ts';
import { lockMember } from './find-member.ts';
import type { MemberView } from './member-view.ts';

/**
 * Gives a member of the caller's space another role, with the permission to add members.
 * @throws `missing_permission`, also when the new or the present role has a permission that the caller lacks;
 *   `member_not_found`, `role_not_found`, and `principal_not_found` for a caller who is being deleted
 */
export async function changeMemberRole(
  ctx: Context,
  input: { memberId: string; roleId: string },
): Promise<MemberView> {
  const { caller, em } = ctx;
  authorize(caller, 'members.add');
  await findCaller(ctx);
  const member = await lockMember(ctx, { id: input.memberId });
  const role = await findGrantableRole(ctx, { roleId: input.roleId, scope: 'space' });
  const before = member.roleKey;
  if (before !== role.key) {
    await requireRoleOfNoMore(ctx, before);
    member.roleKey = role.key;
    await em.flush();
    await recordEvent(em, caller, {
      type: 'space.member_role_changed',
      resource: { type: 'space', id: member.spaceId },
      metadata: { principal_id: member.principalId, role: role.key, before, member_id: member.id },
    });
    await announceChange(em, caller.tenantId);
  }
  return { member, roleId: role.id };
}
