import { Credential, valuePlace } from '#domain/capabilities/credentials/credential.entity.ts';
import type { CredentialValue, OAuthClientValue } from '#domain/capabilities/credentials/credential-value.ts';
import type { FieldWork } from '#domain/foundation/secrets/field-place.ts';
import { openField } from '#domain/foundation/secrets/open-fields.ts';
import { AuthorizationClient, secretPlace } from './authorization-client.entity.ts';
import type { AuthorizationTarget, OAuthClient } from './authorization-servers.ts';

/** What a connection or an attempt stores of its client: a registration, or a credential. */
export interface ClientReference {
  tenantId: string;
  spaceId: string;
  clientId?: string | null | undefined;
  clientCredentialId?: string | null | undefined;
}

/** The client with its secret; null where it is gone, or may not be used at this authorization server. */
export async function openClient(
  work: FieldWork,
  reference: ClientReference,
  target: AuthorizationTarget,
): Promise<OAuthClient | null> {
  if (reference.clientCredentialId != null) {
    return openPreregistered(work, reference, target);
  }
  const client =
    reference.clientId == null
      ? null
      : await work.em.findOne(AuthorizationClient, { id: reference.clientId });
  if (client === null || client.issuer !== target.issuer) {
    return null;
  }
  const secret = client.secret == null ? null : await openField(work, secretPlace(client), client.secret);
  return {
    clientId: client.clientId,
    clientSecret: secret,
    privateKey: null,
    authMethod: client.authMethod ?? null,
    secretExpiresAt: client.secretExpiresAt ?? null,
  };
}

/**
 * The secret goes to the token address or the issuer that is stored with it and nowhere else: a tool server that names
 * another authorization server does not get it.
 */
async function openPreregistered(
  work: FieldWork,
  { clientCredentialId: id, spaceId }: ClientReference,
  target: AuthorizationTarget,
): Promise<OAuthClient | null> {
  const credential = id == null ? null : await work.em.findOne(Credential, { id });
  if (credential === null || !(credential.spaceId == null || credential.spaceId === spaceId)) {
    return null;
  }
  const text = await openField(work, valuePlace(credential), credential.sealedValue);
  const value = text === null ? null : (JSON.parse(text) as CredentialValue);
  if (value?.kind !== 'oauth2_client' || !isRegisteredAt(value, target)) {
    return null;
  }
  return {
    clientId: value.client_id,
    clientSecret: value.client_secret ?? null,
    privateKey: value.private_key ?? null,
    authMethod: null,
    secretExpiresAt: null,
  };
}

function isRegisteredAt(
  { issuer, token_url: tokenUrl }: OAuthClientValue,
  target: AuthorizationTarget,
): boolean {
  return issuer === undefined ? tokenUrl === target.metadata['token_endpoint'] : issuer === target.issuer;
}
