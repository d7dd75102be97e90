import type { Context } from '#domain/access/context.ts';
import { authorize } from '#domain/access/policy.ts';
import { recordEvent } from '#domain/events/record-event.ts';
import { newId } from '#domain/kernel/ids.ts';
import { Principal } from './principal.entity.ts';
import { sealPrincipal } from './seal-principal.ts';

export interface NewPrincipal {
  type: Principal['type'];
  name: string;
  email: string | null;
}

/** One more principal of the tenant, without any right yet. @throws `missing_permission` */
export async function createPrincipal(ctx: Context, input: NewPrincipal): Promise<Principal> {
  authorize(ctx.caller, 'principals.create');
  const principal = ctx.em.create(Principal, { tenantId: ctx.caller.tenantId, id: newId(), ...input });
  await ctx.em.flush();
  await sealPrincipal(ctx, principal);
  await recordEvent(ctx.em, ctx.caller, {
    type: 'security.principal_created',
    resource: { type: 'principal', id: principal.id },
    metadata: { principal_type: principal.type },
  });
  return principal;
}
