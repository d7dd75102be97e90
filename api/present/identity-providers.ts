import type { ProviderRecord } from '#api/contract/identity-providers.ts';
import type { IdentityProvider } from '#domain/identity/identity-providers/identity-provider.entity.ts';

/** Everything but the client's secret. */
export function presentProvider(provider: IdentityProvider): ProviderRecord {
  return {
    id: provider.id,
    slug: provider.slug,
    display_name: provider.displayName,
    issuer: provider.issuer,
    client_id: provider.clientId,
    has_client_secret: provider.clientSecret != null,
    signing_alg: provider.signingAlg,
    extra_audiences: provider.extraAudiences,
    redirect_uris: provider.redirectUris,
    provisioning: provider.provisioning,
    strict_rotation: provider.strictRotation,
    status: provider.status,
    confirmed_by: provider.confirmedBy ?? null,
    created_at: provider.createdAt.toISOString(),
    updated_at: provider.updatedAt.toISOString(),
  };
}
