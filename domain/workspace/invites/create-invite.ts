import type { Context } from '#domain/foundation/access/context.ts';
import { findGrantableRole } from '#domain/identity/roles/find-role.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { builtInRoleId } from '#domain/identity/roles/role-ids.ts';
import { spaceOf } from '#domain/foundation/access/space-of.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { claimKey, type IdempotentRequest } from '#domain/foundation/idempotency/idempotency.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { mapUniqueViolation } from '#domain/foundation/persistence/map-unique-violation.ts';
import { findCaller } from '#domain/identity/principals/find-principal.ts';
import { expireInvite } from './expire-invite.ts';
import { findInvite, viewInvite, type InviteView } from './invite-view.ts';
import { Invite } from './invite.entity.ts';

export interface NewInvite {
  email: string;
  /** Defaults to `space_member`. */
  roleId?: string | undefined;
  idempotency?: IdempotentRequest | null;
}

/**
 * Invites the owner of an address into the caller's space, for seven days. Each address has one pending invite to a
 * space.
 * @throws `missing_permission`, also for a role with a permission that the caller lacks; `role_not_found`,
 *   `already_exists`, `principal_not_found` for a caller who is being deleted, and the refusals of `claimKey`
 */
export async function createInvite(
  ctx: Context,
  input: NewInvite,
): Promise<InviteView & { replayed: boolean }> {
  const { caller, em } = ctx;
  authorize(caller, 'invites.create');
  const id = newId();
  const claimed = input.idempotency ? await claimKey(ctx, input.idempotency, id) : id;
  if (claimed !== id) {
    return { ...(await viewInvite(ctx, await findInvite(ctx, claimed))), replayed: true };
  }
  const role = await findGrantableRole(ctx, {
    roleId: input.roleId ?? builtInRoleId('space_member'),
    scope: 'space',
  });
  const { tenantId, principalId: invitedBy } = caller;
  const spaceId = spaceOf(caller);
  await findCaller(ctx);
  await expireOverdue(ctx, spaceId, input.email);
  const invite = em.create(Invite, {
    tenantId,
    id,
    spaceId,
    invitedBy,
    email: input.email,
    roleKey: role.key,
  });
  await em.flush().catch(mapUniqueViolation('This address has a pending invite already.', 'email'));
  await recordEvent(em, caller, {
    type: 'space.invite_created',
    resource: { type: 'invite', id },
    metadata: { space_id: spaceId, role: role.key },
  });
  return { ...(await viewInvite(ctx, await em.refreshOrFail(invite))), replayed: false };
}

/** An expired invite of the address, which the sweep has not marked yet, must not block a new one. */
async function expireOverdue(ctx: Context, spaceId: string, email: string): Promise<void> {
  const due = await ctx.em.execute<{ id: string }[]>(
    `select id from invites where space_id = ? and lower(email) = lower(?) and status = 'pending' and expires_at <= now()`,
    [spaceId, email],
  );
  for (const { id } of due) {
    await expireInvite(ctx.em, ctx.caller.tenantId, id);
  }
}
