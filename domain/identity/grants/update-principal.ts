import { announceChange } from '#domain/foundation/access/announce-change.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { lockOwners, requireAnotherOwner } from './require-an-owner.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { lockPrincipal } from '#domain/identity/principals/find-principal.ts';
import type { Principal } from '#domain/identity/principals/principal.entity.ts';
import { sealPrincipal } from '#domain/foundation/events/seal-principal.ts';

export interface PrincipalChange {
  principalId: string;
  name?: string | undefined;
  /** `disabled` refuses every operation of the principal and stops its running work, until it is `active` again. */
  status?: Principal['status'] | undefined;
}

/**
 * Omitted fields stay unchanged. The address cannot be changed here, because invites trust it.
 * @throws `missing_permission`, `principal_not_found`, `invalid_state` for disabling the last owner, and the refusals
 *   of `lockOwners`
 */
export async function updatePrincipal(outer: Context, input: PrincipalChange): Promise<Principal> {
  authorize(outer.caller, 'principals.update');
  const ctx = await lockOwners(outer, ['principals.update']);
  const { caller, em } = ctx;
  if (input.status === 'disabled') {
    await requireAnotherOwner(em, input.principalId);
  }
  const principal = await lockPrincipal(ctx, input.principalId);
  const changed: string[] = [];
  if (input.name !== undefined && input.name !== principal.name) {
    principal.name = input.name;
    changed.push('name');
  }
  if (input.status !== undefined && input.status !== principal.status) {
    principal.status = input.status;
    changed.push('status');
  }
  if (changed.length > 0) {
    await em.flush();
    if (changed.includes('name')) {
      await sealPrincipal(ctx, principal);
    }
    await recordEvent(em, caller, {
      type: 'security.principal_updated',
      resource: { type: 'principal', id: principal.id },
      changedFields: changed,
      metadata: { status: principal.status },
    });
    await announceChange(em, caller.tenantId);
  }
  return principal;
}
