import type { Context } from '#domain/access/context.ts';
import { authorize } from '#domain/access/policy.ts';
import { recordEvent } from '#domain/events/record-event.ts';
import { changedFields } from '#domain/kernel/changed-fields.ts';
import { findCaller } from '#domain/principals/find-principal.ts';
import { endSessions } from '#domain/sessions/end-sessions.ts';
import type { NewProvider } from './add-provider.ts';
import { keepClientSecret } from './client-secret.ts';
import type { IdentityProvider } from './identity-provider.entity.ts';
import { displayName, redirectUris } from './provider-settings.ts';
import { lockProvider } from './read-providers.ts';

type Settings = Omit<NewProvider, 'slug' | 'issuer'>;

/** What is left out stays as it is. Slug and issuer never change: identities hang on them. */
export type UpdateProvider = { providerId: string; status?: IdentityProvider['status'] | undefined } & {
  [K in keyof Settings]?: Settings[K] | undefined;
};

/**
 * Changes a provider's settings. Disabling it refuses new sign-ins and ends the sessions that came of it. What
 * changes nothing writes no event.
 * @throws `missing_permission`, `identity_provider_not_found`, `url_not_allowed`, and `principal_not_found` for a
 *   caller who is being deleted
 */
export async function updateProvider(ctx: Context, input: UpdateProvider): Promise<IdentityProvider> {
  authorize(ctx.caller, 'identity_providers.manage');
  await findCaller(ctx);
  const provider = await lockProvider(ctx, input.providerId);
  const { providerId: _, clientSecret, ...settings } = input;
  const changes = {
    ...settings,
    displayName: settings.displayName === undefined ? undefined : displayName(settings.displayName),
    redirectUris: settings.redirectUris === undefined ? undefined : redirectUris(settings.redirectUris),
  };
  const fields = Object.keys(changes) as (keyof typeof changes)[];
  const settled = changedFields(fields, changes, provider);
  const changed: string[] = [...settled];
  Object.assign(provider, Object.fromEntries(settled.map((field) => [field, changes[field]])));
  // A secret that is given is sealed anew and counts as a change: none is opened to be compared.
  if (clientSecret !== undefined && (clientSecret ?? provider.clientSecret ?? null) !== null) {
    await keepClientSecret(ctx, provider, clientSecret);
    changed.push('clientSecret');
  }
  if (changed.length > 0) {
    provider.updatedAt = new Date();
    await ctx.em.flush();
  }
  const ended =
    provider.status === 'disabled'
      ? await endSessions(ctx.em, { providerId: provider.id, reason: 'provider_disabled' })
      : [];
  if (changed.length > 0 || ended.length > 0) {
    await recordEvent(ctx.em, ctx.caller, {
      type: 'security.identity_provider_changed',
      resource: { type: 'identity_provider', id: provider.id },
      changedFields: changed,
      metadata: {
        change: changed.includes('status') ? provider.status : 'updated',
        sessions_ended: ended.length,
      },
    });
  }
  return provider;
}
