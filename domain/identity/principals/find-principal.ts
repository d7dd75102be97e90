import { LockMode } from '@mikro-orm/core';
import type { Context } from '#domain/foundation/access/context.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import { Principal } from './principal.entity.ts';

/**
 * Stays as it is until the end of the transaction: nobody who is being deleted is given anything.
 * @throws `principal_not_found`, also for one of another tenant and for a deleted one
 */
export async function findPrincipal(ctx: Context, principalId: string): Promise<Principal> {
  return found(ctx, principalId, LockMode.PESSIMISTIC_READ);
}

/** The same, locked for a change. */
export async function lockPrincipal(ctx: Context, principalId: string): Promise<Principal> {
  return found(ctx, principalId, LockMode.PESSIMISTIC_WRITE);
}

/**
 * The caller, asked for before anything is locked that goes when it is deleted: an event needs its row, and whoever
 * deletes it begins there.
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
