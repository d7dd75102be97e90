import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { findCaller } from '#domain/identity/principals/find-principal.ts';
import { lockInvite, viewInvite, type InviteView } from './invite-view.ts';
import type { Invite } from './invite.entity.ts';

/**
 * Revokes a pending invite; a repeat changes nothing.
 * @throws `missing_permission`, `invite_not_found`, `invite_expired`, `invalid_state`, and `principal_not_found` for
 *   a caller who is being deleted
 */
export async function revokeInvite(ctx: Context, input: { inviteId: string }): Promise<InviteView> {
  const { caller, em } = ctx;
  authorize(caller, 'invites.revoke');
  await findCaller(ctx);
  const invite = await lockInvite(ctx, input.inviteId);
  if (invite.answer('revoked', caller.principalId, await databaseNow(em))) {
    await em.flush();
    await recordRevocation(ctx, invite);
  }
  return viewInvite(ctx, invite);
}

/** Records that the caller has revoked `invite`. */
export async function recordRevocation({ caller, em }: Context, invite: Invite): Promise<void> {
  await recordEvent(em, caller, {
    type: 'space.invite_revoked',
    resource: { type: 'invite', id: invite.id },
    metadata: { space_id: invite.spaceId },
  });
}
