import type { Context } from '#domain/foundation/access/context.ts';
import { foldCase, foldedInSql } from '#domain/identity/principals/fold-address.ts';
import { revokePending } from './revoke-pending.ts';

/**
 * Erases a deleted principal's address from every invite of the tenant, unless another principal has the same
 * address. Pending invites are revoked, each with its event; answered ones stay in history.
 */
export async function eraseAddress(
  ctx: Context,
  { of, address }: { of: string; address: string },
): Promise<void> {
  const { em } = ctx;
  const folded = foldCase(address);
  const others = await em.execute(
    `select id from principals where id <> ? and ${foldedInSql('email')} = ? limit 1`,
    [of, folded],
  );
  if (others.length > 0) {
    return;
  }
  await revokePending(ctx, { address });
  // An invite created concurrently stays.
  await em.execute(
    `update invites set email = null where status <> 'pending' and ${foldedInSql('email')} = ?`,
    [folded],
  );
}
