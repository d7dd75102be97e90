import type { UnitOfWork } from '#domain/persistence/unit-of-work.ts';
import { recordEvent } from '#domain/events/record-event.ts';
import type { DomainError } from '#domain/kernel/errors.ts';
import { Principal } from '#domain/principals/principal.entity.ts';
import type { Identity, Origin } from './caller.ts';

/** Writes `security.permission_denied` (`content_blocked` where that is why), at most once a minute per principal, permission and place. */
export async function recordRefusal(
  unitOfWork: UnitOfWork,
  identity: Identity,
  refusal: { error: DomainError; origin: Origin },
): Promise<void> {
  const { error, origin } = refusal;
  const { missingPermission, scope } = error.detail;
  const place = scope?.id ?? identity.tenantId;
  const minute = Math.floor(Date.now() / 60_000);
  await unitOfWork.inTenant(identity.tenantId, async (em) => {
    const principal = await em.findOneOrFail(Principal, { id: identity.principalId });
    await recordEvent(
      em,
      {
        tenantId: identity.tenantId,
        principalId: principal.id,
        principalType: principal.type,
        origin,
      },
      {
        type: error.code === 'content_blocked' ? 'security.content_blocked' : 'security.permission_denied',
        resource: { type: scope?.type === 'space' ? 'space' : 'tenant', id: place },
        outcome: 'denied',
        metadata: { code: error.code, missing_permission: missingPermission ?? null },
        dedupeKey: `denied/${principal.id}/${missingPermission ?? error.code}/${place}/${minute}`,
      },
    );
  });
}
