import type { Context } from '#domain/foundation/access/context.ts';
import { findGrantableRole } from '#domain/identity/roles/find-role.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { builtInRoleId } from '#domain/identity/roles/role-ids.ts';
import { spaceOf } from '#domain/foundation/access/space-of.ts';
import { claimKey, type IdempotentRequest } from '#domain/foundation/idempotency/idempotency.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { mapUniqueViolation } from '#domain/foundation/persistence/map-unique-violation.ts';
import { findPrincipal } from '#domain/identity/principals/find-principal.ts';
import { lockMember } from './find-member.ts';
import type { MemberRole } from './member-roles.ts';
import { viewMembers, type MemberView } from './member-view.ts';
import { recordMembership } from '#domain/workspace/spaces/record-membership.ts';
import { SpaceMember } from '#domain/identity/roles/space-member.entity.ts';

export interface NewMember {
  principalId: string;
  /** Defaults to `space_member`; an id takes precedence over a key. */
  roleKey?: MemberRole;
  roleId?: string | undefined;
  idempotency?: IdempotentRequest | null;
}

/**
 * Makes a principal of the tenant a member of the caller's space.
 * @throws `missing_permission`, also for a role with a permission that the caller lacks; `principal_not_found`,
 *   `role_not_found`, `already_exists`, and the refusals of `claimKey`
 */
export async function addMember(ctx: Context, input: NewMember): Promise<MemberView & { replayed: boolean }> {
  const { caller, em } = ctx;
  authorize(caller, 'members.add');
  const spaceId = spaceOf(caller);
  const id = newId();
  const claimed = input.idempotency ? await claimKey(ctx, input.idempotency, id) : id;
  if (claimed !== id) {
    const [known] = await viewMembers(em, [await lockMember(ctx, { id: claimed })]);
    if (known !== undefined) {
      return { ...known, replayed: true };
    }
  }
  const { id: principalId } = await findPrincipal(ctx, input.principalId);
  const roleId = input.roleId ?? builtInRoleId(input.roleKey ?? 'space_member');
  const role = await findGrantableRole(ctx, { roleId, scope: 'space' });
  const { tenantId } = caller;
  const member = em.create(SpaceMember, { tenantId, spaceId, principalId, id, roleKey: role.key });
  await em.flush().catch(mapUniqueViolation('This principal is a member already.', 'principal_id'));
  await recordMembership(ctx, member);
  return { member: await em.refreshOrFail(member), roleId: role.id, replayed: false };
}
