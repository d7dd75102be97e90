import { LockMode } from '@mikro-orm/core';
import type { Context } from '#domain/foundation/access/context.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { expireInvite } from './expire-invite.ts';
import { Invite } from './invite.entity.ts';
import { sentTo } from './invited-address.ts';
import { recordRevocation } from './revoke-invite.ts';

/** Revokes the pending invites to an address, into one space or into all, each with its event. */
export async function revokePending(
  ctx: Context,
  { address, ...where }: { address: string; spaceId?: string },
): Promise<void> {
  const { caller, em } = ctx;
  const pending = await em.find(
    Invite,
    { ...sentTo(address), ...where, status: 'pending' },
    { lockMode: LockMode.PESSIMISTIC_WRITE, orderBy: { id: 'asc' } },
  );
  const now = await databaseNow(em);
  for (const invite of pending) {
    // An expired invite, which the sweep has not marked yet, counts as expired and not as revoked.
    if (!(await expireInvite(em, caller.tenantId, invite.id))) {
      invite.answer('revoked', caller.principalId, now);
      await em.flush();
      await recordRevocation(ctx, invite);
    }
  }
}
