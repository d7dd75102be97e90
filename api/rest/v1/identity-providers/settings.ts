import type { z } from 'zod';
import type { createProviderBody, updateProviderBody } from '#api/contract/identity-providers.ts';
import type { NewProvider } from '#domain/identity/identity-providers/add-provider.ts';
import type { UpdateProvider } from '#domain/identity/identity-providers/update-provider.ts';

/** Maps wire names to the use cases' names. */
export function toNewProvider(body: z.infer<typeof createProviderBody>): NewProvider {
  return {
    slug: body.slug,
    issuer: body.issuer,
    displayName: body.display_name,
    clientId: body.client_id,
    clientSecret: body.client_secret ?? null,
    signingAlg: body.signing_alg,
    extraAudiences: body.extra_audiences,
    redirectUris: body.redirect_uris,
    provisioning: body.provisioning,
    strictRotation: body.strict_rotation,
  };
}

export function toChanges(body: z.infer<typeof updateProviderBody>): Omit<UpdateProvider, 'providerId'> {
  return {
    displayName: body.display_name,
    clientId: body.client_id,
    clientSecret: body.client_secret,
    signingAlg: body.signing_alg,
    extraAudiences: body.extra_audiences,
    redirectUris: body.redirect_uris,
    provisioning: body.provisioning,
    strictRotation: body.strict_rotation,
    status: body.status,
  };
}
