import type { Context } from '#domain/access/context.ts';
import { authorize, refusal } from '#domain/access/policy.ts';
import { firstMissing } from '#domain/access/require-no-more.ts';
import { builtInRoles } from '#domain/access/roles.ts';
import { spaceOf } from '#domain/access/space-of.ts';
import { recordEvent } from '#domain/events/record-event.ts';
import { unlessDuplicate } from '#domain/persistence/unless-duplicate.ts';
import { findPrincipal } from '#domain/principals/find-principal.ts';
import type { MemberRole } from './member-roles.ts';
import { SpaceMember } from './space-member.entity.ts';

/**
 * Makes a principal of the tenant a member of the caller's space.
 * @throws `missing_permission`, also for a role that holds what the caller lacks; `principal_not_found`, `already_exists`
 */
export async function addMember(
  ctx: Context,
  input: { principalId: string; roleKey: MemberRole },
): Promise<SpaceMember> {
  const { caller, em } = ctx;
  authorize(caller, 'members.add');
  const spaceId = spaceOf(caller);
  const { id: principalId } = await findPrincipal(ctx, input.principalId);
  const missing = firstMissing(builtInRoles[input.roleKey] ?? [], caller.granted);
  if (missing !== null) {
    throw refusal(caller, [missing], missing);
  }
  const { tenantId } = caller;
  const member = em.create(SpaceMember, { tenantId, spaceId, principalId, roleKey: input.roleKey });
  await em.flush().catch(unlessDuplicate('principal_id', 'This principal is a member already.'));
  await recordEvent(em, caller, {
    type: 'space.member_added',
    resource: { type: 'space', id: spaceId },
    metadata: { principal_id: principalId, role: input.roleKey },
  });
  return em.refreshOrFail(member);
}
