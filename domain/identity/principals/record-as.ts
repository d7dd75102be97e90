import { recordEvent, type AuditEvent } from '#domain/foundation/events/record-event.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { Principal } from './principal.entity.ts';
import type { Identity, Origin } from '#domain/foundation/access/caller.ts';

/**
 * Records an event of the requester in a transaction of its own, because the request's transaction was rolled back.
 */
export async function recordAs(
  unitOfWork: UnitOfWork,
  { identity, origin }: { identity: Identity; origin: Origin },
  event: AuditEvent,
): Promise<void> {
  const { tenantId, principalId } = identity;
  await unitOfWork.inTenant(tenantId, async (em) => {
    const { type: principalType } = await em.findOneOrFail(Principal, { id: principalId });
    await recordEvent(em, { tenantId, principalId, principalType, origin }, event);
  });
}
