import type { EntityManager } from '@mikro-orm/postgresql';
import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import type { Actor } from '#domain/foundation/access/caller.ts';
import { claimKey, keyed, type IdempotentRequest } from '#domain/foundation/idempotency/idempotency.ts';
import { invalid } from '#domain/foundation/kernel/errors.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import { mapUniqueViolation } from '#domain/foundation/persistence/map-unique-violation.ts';
import { saveClientSecret } from './client-secret.ts';
import { IdentityProvider } from './identity-provider.entity.ts';
import {
  displayName,
  hasIdForm,
  issuerUrl,
  providerSlug,
  redirectUris,
  type Provisioning,
  type SigningAlg,
} from './provider-settings.ts';
import { findProvider } from './read-providers.ts';
import { requireProviderRights } from './require-provider-rights.ts';

export interface NewProvider {
  slug: string;
  displayName: string;
  /** Exactly as in the provider's ID tokens. */
  issuer: string;
  clientId: string;
  /** null: a public client. */
  clientSecret: string | null;
  signingAlg: SigningAlg;
  extraAudiences: string[];
  redirectUris: string[];
  provisioning: Provisioning;
  strictRotation: boolean;
}

/**
 * Adds an identity provider with which the tenant's users can sign in.
 * @throws `missing_permission`, also where its identities would exceed the caller's permissions; `already_exists`,
 *   `url_not_allowed`, `invalid_request`, and the refusals of `claimKey`
 */
export async function registerProvider(
  ctx: Context,
  input: NewProvider & { idempotency: IdempotentRequest | null },
): Promise<{ provider: IdentityProvider; replayed: boolean }> {
  authorize(ctx.caller, 'identity_providers.manage');
  const id = newId();
  const claimed = input.idempotency === null ? id : await claimKey(ctx, keyed(ctx, input.idempotency), id);
  if (claimed !== id) {
    return { provider: await findProvider(ctx, claimed), replayed: true };
  }
  await requireProviderRights(ctx, { id, provisioning: input.provisioning });
  const work = { em: ctx.em, secrets: ctx.secrets, actor: ctx.caller };
  const provider = await addProvider(work, { ...input, id, confirmedBy: ctx.caller.principalId });
  return { provider, replayed: false };
}

/** Like `registerProvider`, for the setup of a tenant, where the operator confirms the settings (`confirmedBy` null). */
export async function addProvider(
  work: { em: EntityManager; secrets: Secrets; actor: Actor },
  input: NewProvider & { id: string; confirmedBy: string | null },
): Promise<IdentityProvider> {
  const { em, actor } = work;
  if (!providerSlug.test(input.slug)) {
    throw invalid('slug', 'slug must be 1 to 63 lower-case letters, digits and inner hyphens.');
  }
  if (hasIdForm(input.slug)) {
    throw invalid('slug', 'slug must not have the form of an id.');
  }
  const provider = em.create(IdentityProvider, {
    tenantId: actor.tenantId,
    id: input.id,
    slug: input.slug,
    displayName: displayName(input.displayName),
    issuer: issuerUrl(input.issuer),
    clientId: input.clientId,
    signingAlg: input.signingAlg,
    extraAudiences: [...new Set(input.extraAudiences)],
    redirectUris: redirectUris(input.redirectUris),
    provisioning: input.provisioning,
    strictRotation: input.strictRotation,
    confirmedBy: input.confirmedBy,
  });
  await saveClientSecret(work, provider, input.clientSecret);
  const taken = mapUniqueViolation('This tenant has an identity provider with this slug.', 'slug');
  await em.persist(provider).flush().catch(taken);
  await recordEvent(em, actor, {
    type: 'security.identity_provider_changed',
    resource: { type: 'identity_provider', id: provider.id },
    metadata: { change: 'added', slug: provider.slug, issuer: provider.issuer },
  });
  return provider;
}
