import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { changedFields } from '#domain/foundation/kernel/changed-fields.ts';
import { findCaller } from '#domain/identity/principals/find-principal.ts';
import { endSessionsOfProvider } from '#domain/identity/sessions/end-provider-sessions.ts';
import type { NewProvider } from './add-provider.ts';
import { saveClientSecret } from './client-secret.ts';
import type { IdentityProvider } from './identity-provider.entity.ts';
import { displayName, redirectUris } from './provider-settings.ts';
import { findProvider, lockProvider } from './read-providers.ts';
import { requireProviderRights } from './require-provider-rights.ts';
import { closeLogins, unlinkIdentities } from './unlink-identities.ts';

type Settings = Omit<NewProvider, 'slug' | 'issuer'>;

/** Omitted fields stay unchanged. Slug and issuer never change: identities depend on them. */
export type UpdateProvider = { providerId: string; status?: IdentityProvider['status'] | undefined } & {
  [K in keyof Settings]?: Settings[K] | undefined;
};

/**
 * Changes a provider's settings. Disabling it refuses new sign-ins and ends its sessions. Another client also ends
 * them and unlinks all identities: a provider may give each client different subjects. Unless it is only renamed or
 * disabled, the caller confirms the provider, also by repeating its settings: see `requireConfirmed`. An update without
 * a change records no event.
 * @throws `missing_permission`, and by `requireProviderRights` unless it is only renamed or disabled;
 *   `identity_provider_not_found`, `url_not_allowed`, and `principal_not_found` for a caller who is being deleted
 */
export async function updateProvider(ctx: Context, input: UpdateProvider): Promise<IdentityProvider> {
  authorize(ctx.caller, 'identity_providers.manage');
  await findCaller(ctx);
  const { clientId } = await findProvider(ctx, input.providerId);
  if (input.clientId !== undefined && input.clientId !== clientId) {
    // Before the provider is locked, in the lock order of finishing a sign-in.
    await closeLogins(ctx.em, input.providerId);
  }
  const provider = await lockProvider(ctx, input.providerId);
  const { providerId: _, clientSecret, ...settings } = input;
  const changes = {
    ...settings,
    displayName: settings.displayName === undefined ? undefined : displayName(settings.displayName),
    redirectUris: settings.redirectUris === undefined ? undefined : redirectUris(settings.redirectUris),
  };
  const fields = Object.keys(changes) as (keyof typeof changes)[];
  const changedNames = changedFields(fields, changes, provider);
  const changed: string[] = [...changedNames];
  // A given secret is sealed again and counts as a change: secrets are not decrypted for comparison.
  const givesSecret = clientSecret !== undefined && (clientSecret ?? provider.clientSecret ?? null) !== null;
  if (givesSecret) {
    changed.push('clientSecret');
  }
  if (!isHarmless(input)) {
    const provisioning = changes.provisioning ?? provider.provisioning;
    await requireProviderRights(ctx, { id: provider.id, provisioning });
    if (provider.confirmedBy !== ctx.caller.principalId) {
      provider.confirmedBy = ctx.caller.principalId;
      changed.push('confirmedBy');
    }
  }
  Object.assign(provider, Object.fromEntries(changedNames.map((field) => [field, changes[field]])));
  if (givesSecret) {
    await saveClientSecret(ctx, provider, clientSecret);
  }
  if (changed.length > 0) {
    provider.updatedAt = new Date();
    await ctx.em.flush();
  }
  await applyChanges(ctx, provider, changed);
  return provider;
}

/** Whether an update names nothing that has an influence on who can sign in. */
function isHarmless({ providerId: _id, displayName: _name, status, ...others }: UpdateProvider): boolean {
  return status !== 'active' && Object.values(others).every((value) => value === undefined);
}

/** Applies the consequences of the changes and records the event. */
async function applyChanges(
  { em, caller }: Context,
  provider: IdentityProvider,
  changed: readonly string[],
): Promise<void> {
  const { id: providerId } = provider;
  const isAnother = changed.includes('clientId');
  const isDisabled = changed.includes('status') && provider.status === 'disabled';
  const reason = isAnother ? 'provider_changed' : 'provider_disabled';
  const ended = isAnother || isDisabled ? await endSessionsOfProvider(em, provider, reason) : 0;
  const unlinked = isAnother ? await unlinkIdentities(em, providerId) : null;
  if (changed.length > 0) {
    await recordEvent(em, caller, {
      type: 'security.identity_provider_changed',
      resource: { type: 'identity_provider', id: providerId },
      changedFields: [...changed],
      metadata: {
        change: changeOf(provider, changed),
        sessions_ended: ended,
        ...(unlinked === null ? {} : { identities_unlinked: unlinked }),
      },
    });
  }
}

function changeOf({ status }: IdentityProvider, changed: readonly string[]): string {
  if (changed.includes('status')) {
    return status;
  }
  return changed.every((field) => field === 'confirmedBy') ? 'confirmed' : 'updated';
}
