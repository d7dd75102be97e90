import { authorize } from '#domain/foundation/access/policy.ts';
import type { Caller } from '#domain/foundation/access/caller.ts';
import { createContext } from '#domain/foundation/access/context.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { claimKey, findKey, type IdempotentRequest } from '#domain/foundation/idempotency/idempotency.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { openTenant, type OpenedTenant } from './open-tenant.ts';

/**
 * Creates a tenant for an operator, and records it in the logs of both tenants.
 * @returns for a repeated request the id alone: the key of the first response was shown once
 * @throws `missing_permission`, `already_exists`, and the refusals of `claimKey`
 */
export async function registerTenant(
  deps: { unitOfWork: UnitOfWork; secrets: Secrets },
  operator: Caller,
  input: { slug: string; name: string; idempotency?: IdempotentRequest | null },
): Promise<OpenedTenant | { tenantId: string }> {
  authorize(operator, 'tenants.create');
  const { idempotency = null, ...wanted } = input;
  const { secrets, unitOfWork } = deps;
  if (idempotency !== null) {
    const known = await unitOfWork.inTenant(operator.tenantId, (em) =>
      findKey(createContext({ caller: operator, em, secrets }), idempotency),
    );
    if (known !== null) {
      return { tenantId: known };
    }
  }
  const id = newId();
  return unitOfWork.inTenant(id, async (em) => {
    const opened = await openTenant({ em, secrets, origin: operator.origin }, { id, ...wanted });
    await em.flush();
    // The rest of this transaction writes to the operator's own tenant.
    await em.execute(`select set_config('app.tenant_id', ?, true)`, [operator.tenantId]);
    if (idempotency !== null) {
      const ctx = createContext({ caller: operator, em, secrets });
      if ((await claimKey(ctx, idempotency, id)) !== id) {
        throw new DomainError('idempotency_in_progress', 'The first request with this key has just ended.', {
          retryAfter: 1,
        });
      }
    }
    // This log outlives the tenant, whose slug is a name.
    await recordEvent(em, operator, { type: 'system.tenant_created', resource: { type: 'tenant', id } });
    return opened;
  });
}
