import type { EntityManager } from '@mikro-orm/postgresql';
import type { Anonymous } from '#domain/foundation/access/caller.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';

/** Cause of a failed sign-in, as events name it: never a provider's words. */
export type LoginFailure =
  | 'access_denied'
  | 'login_required'
  | 'provider_error'
  | 'provider_unavailable'
  | 'provider_unconfirmed'
  | 'id_token_invalid'
  | 'unknown_identity'
  | 'principal_disabled';

export interface FailedLogin {
  tenantId: string;
  id: string;
  provider: { id: string; slug: string };
}

/**
 * Records `security.login_failed` once per started sign-in, however often it is tried. That new users cannot sign in
 * until the provider is confirmed is an event of its own, once a day.
 */
export async function recordFailure(
  unitOfWork: UnitOfWork,
  login: FailedLogin,
  { reason, requestId }: { reason: LoginFailure; requestId: string },
): Promise<void> {
  await unitOfWork.inTenant(login.tenantId, async (em) => {
    await writeFailure(em, login, { reason, requestId });
    if (reason === 'provider_unconfirmed') {
      await writeUnconfirmed(em, login, requestId);
    }
  });
}

export async function writeFailure(
  em: EntityManager,
  { tenantId, id, provider }: FailedLogin,
  { reason, requestId }: { reason: LoginFailure; requestId: string },
): Promise<void> {
  await recordEvent(em, anonymous(tenantId, requestId), {
    type: 'security.login_failed',
    resource: { type: 'identity_provider', id: provider.id },
    outcome: 'failure',
    metadata: { reason },
    dedupeKey: `login_failed/${id}`,
  });
}

async function writeUnconfirmed(
  em: EntityManager,
  { tenantId, provider }: FailedLogin,
  requestId: string,
): Promise<void> {
  const day = Math.floor(Date.now() / 86_400_000);
  await recordEvent(em, anonymous(tenantId, requestId), {
    type: 'security.identity_provider_unconfirmed',
    resource: { type: 'identity_provider', id: provider.id },
    outcome: 'denied',
    metadata: { slug: provider.slug },
    dedupeKey: `provider_unconfirmed/${provider.id}/${day}`,
  });
}

function anonymous(tenantId: string, requestId: string): Anonymous {
  return { tenantId, principalId: null, principalType: 'anonymous', origin: { via: 'api', requestId } };
}
