import { announceChange } from '#domain/foundation/access/announce-change.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { signal, start } from '#domain/foundation/durable/messages.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { DomainError, notFound } from '#domain/foundation/kernel/errors.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { lockTenant } from '#domain/workspace/tenants/lock-tenant.ts';
import { hashDeletionToken, mintDeletionToken } from './deletion-token.ts';
import { newestDeletion } from './find-deletion.ts';
import { TenantDeletion } from './tenant-deletion.entity.ts';

export interface DeletionRequest {
  reasonCode: string;
  /** Time until the erasure begins; null: the platform's default. */
  graceSeconds: number | null;
  defaultGraceSeconds: number;
}

/** `token`: for the certificate, of the first request only. */
export interface RequestedDeletion {
  deletion: TenantDeletion;
  token: string | null;
}

/**
 * Schedules the erasure of the caller's tenant and refuses every operation of its principals from the commit on. A
 * repeat answers the same deletion; an operator of the platform may bring its erasure forward.
 * @throws `missing_permission`, `invalid_state` for the platform's own tenant, `invalid_request` for a grace time that
 *   the caller may not choose
 */
export async function requestDeletion(ctx: Context, request: DeletionRequest): Promise<RequestedDeletion> {
  const { caller, em } = ctx;
  authorize(caller, 'tenants.delete');
  if (
    request.graceSeconds !== null &&
    request.graceSeconds < request.defaultGraceSeconds &&
    !caller.isPlatform
  ) {
    throw new DomainError('invalid_request', 'Only an operator of the platform shortens the grace time.', {
      param: 'grace_seconds',
      errors: [{ in: 'query', pointer: '/grace_seconds', code: 'invalid', message: 'is too short' }],
    });
  }
  const known = await newestDeletion(em);
  if (known?.status === 'deleted') {
    return { deletion: known, token: null };
  }
  const tenant = await lockTenant(ctx);
  const now = await databaseNow(em);
  const graceMs = (request.graceSeconds ?? request.defaultGraceSeconds) * 1_000;
  const purgeAfter = new Date(now.getTime() + graceMs);
  const open = await newestDeletion(em, { lock: true });
  if (open?.isOpen() === true) {
    if (
      request.graceSeconds !== null &&
      open.status === 'deletion_scheduled' &&
      purgeAfter < open.purgeAfter
    ) {
      open.purgeAfter = purgeAfter;
      await em.flush();
      await ctx.enqueue(signal('deleteTenant', { tenantId: tenant.id }, 'runNow', []));
    }
    return { deletion: open, token: null };
  }
  if (tenant.isPlatform) {
    throw new DomainError('invalid_state', 'The tenant of the platform’s operators cannot be deleted.');
  }
  if (tenant.status !== 'active' && tenant.status !== 'suspended') {
    throw notFound('tenant_not_found');
  }
  const token = mintDeletionToken();
  const deletion = em.create(TenantDeletion, {
    id: newId(),
    tenantId: tenant.id,
    status: 'deletion_scheduled',
    reasonCode: request.reasonCode,
    priorStatus: tenant.status === 'suspended' ? 'suspended' : 'active',
    requestedBy: caller.principalId,
    requestedAt: now,
    purgeAfter,
    tokenHash: hashDeletionToken(ctx.secrets, token),
  });
  tenant.status = 'deletion_scheduled';
  await em.flush();
  await recordEvent(em, caller, {
    type: 'system.tenant_deletion_requested',
    resource: { type: 'tenant', id: tenant.id },
    reason: request.reasonCode,
    metadata: { deletion_id: deletion.id, purge_after: purgeAfter.toISOString() },
  });
  await ctx.enqueue(start('deleteTenant', { tenantId: tenant.id, deletionId: deletion.id }));
  await announceChange(em, tenant.id);
  return { deletion, token };
}
