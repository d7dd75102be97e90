import { requireMakersOfNoMore } from '#domain/identity/api-keys/credential-makers.ts';
import { authorizeOwn } from '#domain/foundation/access/authorize-own.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { findPrincipal } from '#domain/identity/principals/find-principal.ts';
import { recordMembership } from '#domain/workspace/spaces/record-membership.ts';
import { SpaceMember } from '#domain/identity/roles/space-member.entity.ts';
import { lockInvite, viewInvite, type InviteView } from './invite-view.ts';
import type { Invite } from './invite.entity.ts';
import { foldCase } from '#domain/identity/principals/fold-address.ts';

/**
 * Makes the invited principal a member of the caller's space, with the role of the invite. Needs no permission, only
 * that the invite is the caller's. A restricted key must reach to adding members, and every maker of the caller's
 * credential must hold the role's permissions. A role that the principal has in the space already stays.
 * @throws `missing_permission` for such a key, and where a maker lacks a permission of the role; `invite_not_found`,
 *   `invite_identity_mismatch`, `invite_expired`, `invalid_state`
 */
export async function acceptInvite(ctx: Context, input: { inviteId: string }): Promise<InviteView> {
  const { caller, em } = ctx;
  authorizeOwn(caller, 'members.add', caller.principalId);
  const invite = await lockOwnInvite(ctx, input.inviteId);
  if (!invite.answer('accepted', caller.principalId, await databaseNow(em))) {
    return viewInvite(ctx, invite);
  }
  const { tenantId, spaceId, roleKey } = invite;
  await requireMakersOfNoMore(ctx, spaceId, roleKey);
  await em.flush();
  await record(ctx, invite, 'space.invite_accepted');
  const { principalId } = caller;
  // A concurrent request may add the same member first.
  const made = await em.execute(
    `insert into space_members (tenant_id, space_id, principal_id, id, role_key) values (?, ?, ?, ?, ?)
     on conflict (tenant_id, space_id, principal_id) do nothing returning id`,
    [tenantId, spaceId, principalId, newId(), roleKey],
  );
  if (made.length > 0) {
    await recordMembership(ctx, await em.findOneOrFail(SpaceMember, { spaceId, principalId }));
  }
  return viewInvite(ctx, invite);
}

/**
 * Declines an invite of the caller; a restricted key must reach to revoking invites.
 * @throws `missing_permission` for such a key, `invite_not_found`, `invite_identity_mismatch`, `invite_expired`,
 *   `invalid_state`
 */
export async function declineInvite(ctx: Context, input: { inviteId: string }): Promise<InviteView> {
  authorizeOwn(ctx.caller, 'invites.revoke', ctx.caller.principalId);
  const invite = await lockOwnInvite(ctx, input.inviteId);
  if (invite.answer('declined', ctx.caller.principalId, await databaseNow(ctx.em))) {
    await ctx.em.flush();
    await record(ctx, invite, 'space.invite_declined');
  }
  return viewInvite(ctx, invite);
}

/**
 * Only the principal with the verified address that an invite names may answer it; letter case is ignored. An address
 * is verified by the ID token of a sign-in, or when an administrator creates the principal with it; no principal can
 * set its own address.
 */
async function lockOwnInvite(ctx: Context, inviteId: string): Promise<Invite> {
  const { email } = await findPrincipal(ctx, ctx.caller.principalId);
  const invite = await lockInvite(ctx, inviteId);
  if (email == null || invite.email == null || foldCase(email) !== foldCase(invite.email)) {
    throw new DomainError('invite_identity_mismatch', 'This invite is for another address.');
  }
  return invite;
}

async function record(
  ctx: Context,
  invite: Invite,
  type: 'space.invite_accepted' | 'space.invite_declined',
): Promise<void> {
  await recordEvent(ctx.em, ctx.caller, {
    type,
    resource: { type: 'invite', id: invite.id },
    metadata: { space_id: invite.spaceId, invited_by: invite.invitedBy },
  });
}
