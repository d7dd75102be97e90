import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import type { DomainError } from '#domain/foundation/kernel/errors.ts';
import type { Identity, Origin } from '#domain/foundation/access/caller.ts';
import { recordAs } from './record-as.ts';

/**
 * Records `security.permission_denied` (`content_blocked` for blocked content), at most once a minute per principal,
 * permission and place.
 */
export async function recordRefusal(
  unitOfWork: UnitOfWork,
  identity: Identity,
  refusal: { error: DomainError; origin: Origin },
): Promise<void> {
  const { error, origin } = refusal;
  const { missingPermission, scope } = error.detail;
  const place = scope?.id ?? identity.tenantId;
  const minute = Math.floor(Date.now() / 60_000);
  await recordAs(
    unitOfWork,
    { identity, origin },
    {
      type: error.code === 'content_blocked' ? 'security.content_blocked' : 'security.permission_denied',
      resource: { type: scope?.type === 'space' ? 'space' : 'tenant', id: place },
      outcome: 'denied',
      metadata: { code: error.code, missing_permission: missingPermission ?? null },
      dedupeKey: `denied/${identity.principalId}/${missingPermission ?? error.code}/${place}/${minute}`,
    },
  );
}
