import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { findPrincipal } from './find-principal.ts';
import type { Principal } from './principal.entity.ts';

/** @throws `missing_permission`, `principal_not_found` */
export async function readPrincipal(ctx: Context, input: { principalId: string }): Promise<Principal> {
  authorize(ctx.caller, 'principals.read');
  return findPrincipal(ctx, input.principalId);
}
