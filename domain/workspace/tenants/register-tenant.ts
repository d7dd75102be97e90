import type { EntityManager } from '@mikro-orm/postgresql';
import { authorize } from '#domain/foundation/access/policy.ts';
import type { Caller } from '#domain/foundation/access/caller.ts';
import { createContext } from '#domain/foundation/access/context.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { claimKey, type IdempotentRequest } from '#domain/foundation/idempotency/idempotency.ts';
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
  const id = newId();
  return unitOfWork.inTenant(id, async (em) => {
    if (idempotency !== null) {
      // Before the slug, which the first of two requests with one key has taken.
      await actIn(em, operator.tenantId);
      const known = await claimKey(createContext({ caller: operator, em, secrets }), idempotency, id);
      if (known !== id) {
        return { tenantId: known };
      }
      await actIn(em, id);
    }
    const opened = await openTenant({ em, secrets, origin: operator.origin }, { id, ...wanted });
    await em.flush();
    await actIn(em, operator.tenantId);
    // This log outlives the tenant, whose slug is a name.
    await recordEvent(em, operator, { type: 'system.tenant_created', resource: { type: 'tenant', id } });
    return opened;
  });
}

/** The transaction is of two tenants: until the next call it reads and writes rows of this one. */
async function actIn(em: EntityManager, tenantId: string): Promise<void> {
  await em.execute(`select set_config('app.tenant_id', ?, true)`, [tenantId]);
}
