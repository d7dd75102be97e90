import type { EntityManager } from '@mikro-orm/postgresql';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';

/** Cause of a failed sign-in, as events name it: never a provider's words. */
export type LoginFailure =
  | 'access_denied'
  | 'login_required'
  | 'provider_error'
  | 'provider_unavailable'
  | 'id_token_invalid'
  | 'unknown_identity'
  | 'principal_disabled';

export interface FailedLogin {
  tenantId: string;
  id: string;
  provider: { id: string };
}

/** Records `security.login_failed` once per started sign-in, however often it is tried. */
export async function recordFailure(
  unitOfWork: UnitOfWork,
  login: FailedLogin,
  { reason, requestId }: { reason: LoginFailure; requestId: string },
): Promise<void> {
  await unitOfWork.inTenant(login.tenantId, (em) => writeFailure(em, login, { reason, requestId }));
}

export async function writeFailure(
  em: EntityManager,
  { tenantId, id, provider }: FailedLogin,
  { reason, requestId }: { reason: LoginFailure; requestId: string },
): Promise<void> {
  await recordEvent(
    em,
    { tenantId, principalId: null, principalType: 'anonymous', origin: { via: 'api', requestId } },
    {
      type: 'security.login_failed',
      resource: { type: 'identity_provider', id: provider.id },
      outcome: 'failure',
      metadata: { reason },
      dedupeKey: `login_failed/${id}`,
    },
  );
}
