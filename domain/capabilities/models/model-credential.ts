import type { Context } from '#domain/foundation/access/context.ts';
import { invalid } from '#domain/foundation/kernel/errors.ts';
import { requireUsable } from '#domain/capabilities/credentials/usable-credential.ts';
import type { ProviderKind } from './model-gateway.ts';
import { vendorAddress } from './vendor-address.ts';

export interface CredentialSettings {
  credentialRef?: string | null;
  credentialId?: string | null;
}

/**
 * A model has one credential at most: a variable's name and a stored credential replace each other. @throws
 * `invalid_request` when both are given
 */
export function eitherCredential(given: CredentialSettings): CredentialSettings {
  if (given.credentialRef != null && given.credentialId != null) {
    throw invalid('credential_id', 'A model has either credential_ref or credential_id.');
  }
  if (given.credentialId != null) {
    return { credentialRef: null };
  }
  return given.credentialRef == null ? {} : { credentialId: null };
}

/** The credential must belong to the whole tenant, as models do. @throws `invalid_request` naming `credential_id` */
export async function requireModelCredential(
  ctx: Context,
  model: {
    providerKind: ProviderKind;
    baseUrl?: string | null | undefined;
    credentialId?: string | null | undefined;
  },
): Promise<void> {
  if (model.credentialId == null) {
    return;
  }
  const url = model.baseUrl ?? vendorAddress[model.providerKind];
  if (url === null) {
    throw invalid('credential_id', 'A model without an address is sent no credential.');
  }
  await requireUsable(ctx, {
    credentialId: model.credentialId,
    spaceId: null,
    url,
    kinds: ['bearer', 'header'],
  });
}
