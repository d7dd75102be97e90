import { LockMode } from '@mikro-orm/core';
import type { Context } from '#domain/access/context.ts';
import { databaseNow } from '#domain/persistence/database-now.ts';
import { expireInvite } from './expire-invite.ts';
import { Invite } from './invite.entity.ts';
import { foldCase, foldedInSql, sentTo } from './invited-address.ts';
import { recordRevocation } from './revoke-invite.ts';

/**
 * Takes the address of a principal that goes off every invite of the tenant, unless another principal has it.
 * Pending ones are revoked, each with its event; what was answered stays in history.
 */
export async function forgetAddress(
  ctx: Context,
  { of, address }: { of: string; address: string },
): Promise<void> {
  const { caller, em } = ctx;
  const folded = foldCase(address);
  const others = await em.execute(
    `select id from principals where id <> ? and ${foldedInSql('email')} = ? limit 1`,
    [of, folded],
  );
  if (others.length > 0) {
    return;
  }
  const pending = await em.find(
    Invite,
    { ...sentTo(address), status: 'pending' },
    { lockMode: LockMode.PESSIMISTIC_WRITE, orderBy: { id: 'asc' } },
  );
  const now = await databaseNow(em);
  for (const invite of pending) {
    // One that has run out, and that the sweep has not met yet, was not taken back.
    if (!(await expireInvite(em, caller.tenantId, invite.id))) {
      invite.answer('revoked', caller.principalId, now);
      await em.flush();
      await recordRevocation(ctx, invite);
    }
  }
  // One that somebody makes at this moment stands.
  await em.execute(
    `update invites set email = null where status <> 'pending' and ${foldedInSql('email')} = ?`,
    [folded],
  );
}
