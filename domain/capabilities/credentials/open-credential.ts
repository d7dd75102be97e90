import { openField } from '#domain/foundation/secrets/open-fields.ts';
import type { FieldWork } from '#domain/foundation/secrets/field-place.ts';
import { isAtOrigin } from './credential-origin.ts';
import type { CredentialUse } from './credential-source.ts';
import type { CredentialValue } from './credential-value.ts';
import { Credential, valuePlace } from './credential.entity.ts';

export interface OpenedCredential {
  version: number;
  value: CredentialValue;
}

/** Resolution of `last_used_at`, so that using a credential seldom writes. */
const noteEvery = '1 minute';

/**
 * Decrypts a credential for one request, in a transaction of its tenant. Space, principal and origin are compared at
 * each use: the address of the model or server may have changed since.
 * @returns null where it may not be used
 */
export async function openCredential(work: FieldWork, use: CredentialUse): Promise<OpenedCredential | null> {
  const { em } = work;
  const credential = await em.findOne(Credential, { tenantId: use.tenantId, id: use.credentialId });
  if (
    credential === null ||
    !(credential.spaceId == null || credential.spaceId === use.spaceId) ||
    !(credential.ownerId == null || credential.ownerId === use.principalId) ||
    !isAtOrigin(credential.origin, use.url)
  ) {
    return null;
  }
  const text = await openField(work, valuePlace(credential), credential.sealedValue);
  if (text === null) {
    return null;
  }
  // Never waits: if another use or a rotation holds the row, the timestamp is skipped.
  await em.execute(
    `update credentials set last_used_at = now() where id = (
       select id from credentials
        where id = ? and (last_used_at is null or last_used_at < now() - interval '${noteEvery}')
          for no key update skip locked)`,
    [credential.id],
  );
  return { version: credential.version, value: JSON.parse(text) as CredentialValue };
}
