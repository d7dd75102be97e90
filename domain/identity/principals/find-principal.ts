import { LockMode } from '@mikro-orm/core';
import type { Context } from '#domain/foundation/access/context.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import { Principal } from './principal.entity.ts';

/**
 * Locked against changes until the end of the transaction: a principal that is being deleted receives no grants.
 * @throws `principal_not_found`, also for another tenant's and for a deleted one
 */
export async function findPrincipal(ctx: Context, principalId: string): Promise<Principal> {
  return found(ctx, principalId, LockMode.PESSIMISTIC_READ);
}

/** Like `findPrincipal`, locked for a change. */
export async function lockPrincipal(ctx: Context, principalId: string): Promise<Principal> {
  return found(ctx, principalId, LockMode.PESSIMISTIC_WRITE);
}

/**
 * The caller, locked before anything that is deleted with it: events refer to its row, and a deletion locks that row
 * first.
 * @throws `principal_not_found` for a caller who is being deleted
 */
export async function findCaller(ctx: Context): Promise<void> {
  await findPrincipal(ctx, ctx.caller.principalId);
}

async function found(ctx: Context, id: string, lockMode: LockMode): Promise<Principal> {
  const principal = await ctx.em.findOne(Principal, { id, deletedAt: null }, { lockMode });
  if (principal === null) {
    throw notFound('principal_not_found');
  }
  return principal;
}
