import type { EntityManager } from '@mikro-orm/postgresql';
import type { Origin } from '#domain/foundation/access/caller.ts';
import { createContext } from '#domain/foundation/access/context.ts';
import { loadCaller } from '#domain/foundation/access/load-caller.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import type { IdentityProvider } from './identity-provider.entity.ts';
import { requireRightsOfNewUser } from './require-provider-rights.ts';

/**
 * The principal that confirmed a provider may control its issuer, and so make users. It must still hold all that a new
 * user gets, as when it confirmed the settings. Settings of the operator need no confirmation.
 * @throws `identity_provider_unconfirmed`
 */
export async function requireConfirmed(
  { em, secrets, origin }: { em: EntityManager; secrets: Secrets; origin: Origin },
  { tenantId, confirmedBy }: Pick<IdentityProvider, 'tenantId' | 'confirmedBy'>,
): Promise<void> {
  if (confirmedBy == null) {
    return;
  }
  const confirmer = { tenantId, principalId: confirmedBy, apiKeyId: null, keyPermissions: null };
  try {
    const caller = await loadCaller(em, confirmer, origin, null);
    await requireRightsOfNewUser(createContext({ caller, em, secrets }));
  } catch (error) {
    if (
      error instanceof DomainError &&
      (error.code === 'missing_permission' || error.code === 'principal_disabled')
    ) {
      throw new DomainError(
        'identity_provider_unconfirmed',
        'This identity provider admits no new users until an administrator confirms its settings.',
      );
    }
    throw error;
  }
}
