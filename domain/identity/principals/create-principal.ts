import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { claimKey, type IdempotentRequest } from '#domain/foundation/idempotency/idempotency.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { findPrincipal } from './find-principal.ts';
import { Principal } from './principal.entity.ts';
import { sealPrincipal } from '#domain/foundation/events/seal-principal.ts';

export interface NewPrincipal {
  type: Principal['type'];
  name: string | null;
  email: string | null;
  idempotency?: IdempotentRequest | null;
}

/**
 * Creates a principal of the tenant, without any role.
 * @throws `missing_permission`, and the refusals of `claimKey`
 */
export async function createPrincipal(
  ctx: Context,
  input: NewPrincipal,
): Promise<{ principal: Principal; replayed: boolean }> {
  authorize(ctx.caller, 'principals.create');
  const id = newId();
  const claimed = input.idempotency ? await claimKey(ctx, input.idempotency, id) : id;
  if (claimed !== id) {
    return { principal: await findPrincipal(ctx, claimed), replayed: true };
  }
  const { type, name, email } = input;
  const principal = ctx.em.create(Principal, { tenantId: ctx.caller.tenantId, id, type, name, email });
  await ctx.em.flush();
  await sealPrincipal(ctx, principal);
  await recordEvent(ctx.em, ctx.caller, {
    type: 'security.principal_created',
    resource: { type: 'principal', id },
    metadata: { principal_type: type },
  });
  return { principal: await ctx.em.refreshOrFail(principal), replayed: false };
}
