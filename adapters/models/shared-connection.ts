import type { CredentialIdentity } from '#domain/capabilities/credentials/credential-source.ts';

interface ModelRow {
  tenantId: string;
  id: string;
  baseUrl?: string | null | undefined;
  credentialId?: string | null | undefined;
}

interface SharedConnection {
  tenantId: string;
  model: { baseUrl: string | null; credentialRef: null; stored?: CredentialIdentity };
}

/** How a model is reached that acts for no principal: only a credential that the whole tenant shares can match. */
export function sharedConnection({ tenantId, id, baseUrl, credentialId }: ModelRow): SharedConnection {
  const stored = credentialId == null ? null : { tenantId, spaceId: null, principalId: id, credentialId };
  return {
    tenantId,
    model: { baseUrl: baseUrl ?? null, credentialRef: null, ...(stored === null ? {} : { stored }) },
  };
}
