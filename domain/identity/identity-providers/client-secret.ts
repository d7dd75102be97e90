import type { FieldPlace, FieldWork } from '#domain/foundation/secrets/field-place.ts';
import { openField } from '#domain/foundation/secrets/open-fields.ts';
import { sealField } from '#domain/foundation/secrets/seal-field.ts';
import type { IdentityProvider } from './identity-provider.entity.ts';

/** Seals the client secret of the tenant's registration at the provider; it is never shown again. */
export async function saveClientSecret(
  work: FieldWork,
  provider: IdentityProvider,
  secret: string | null,
): Promise<void> {
  provider.clientSecret = secret === null ? null : await sealField(work, placeOf(provider), secret);
}

export async function openClientSecret(work: FieldWork, provider: IdentityProvider): Promise<string | null> {
  return provider.clientSecret == null ? null : openField(work, placeOf(provider), provider.clientSecret);
}

function placeOf({ tenantId, id }: IdentityProvider): FieldPlace {
  return { tenantId, table: 'identity_providers', column: 'client_secret', row: id };
}
