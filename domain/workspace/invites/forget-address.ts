import type { Context } from '#domain/foundation/access/context.ts';
import { foldCase, foldedInSql } from '#domain/identity/principals/fold-address.ts';
import { revokePending } from './revoke-pending.ts';

/**
 * Takes the address of a principal that goes off every invite of the tenant, unless another principal has it.
 * Pending ones are revoked, each with its event; what was answered stays in history.
 */
export async function forgetAddress(
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
  // One that somebody makes at this moment stands.
  await em.execute(
    `update invites set email = null where status <> 'pending' and ${foldedInSql('email')} = ?`,
    [folded],
  );
}
