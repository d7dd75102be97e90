import { LockMode } from '@mikro-orm/core';
import type { Context } from '#domain/access/context.ts';
import { notFound } from '#domain/kernel/errors.ts';
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

async function found(ctx: Context, id: string, lockMode: LockMode): Promise<Principal> {
  const principal = await ctx.em.findOne(Principal, { id, deletedAt: null }, { lockMode });
  if (principal === null) {
    throw notFound('principal_not_found');
  }
  return principal;
}
