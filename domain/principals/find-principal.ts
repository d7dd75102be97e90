import type { Context } from '#domain/access/context.ts';
import { notFound } from '#domain/kernel/errors.ts';
import { Principal } from './principal.entity.ts';

/** @throws `principal_not_found`, also for one of another tenant. */
export async function findPrincipal(ctx: Context, principalId: string): Promise<Principal> {
  const principal = await ctx.em.findOne(Principal, { id: principalId });
  if (principal === null) {
    throw notFound('principal_not_found');
  }
  return principal;
}
