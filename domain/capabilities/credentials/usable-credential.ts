import { LockMode } from '@mikro-orm/core';
import { validate } from 'uuid';
import type { Context } from '#domain/foundation/access/context.ts';
import { invalid } from '#domain/foundation/kernel/errors.ts';
import { isAtOrigin } from './credential-origin.ts';
import type { CredentialKind } from './credential-value.ts';
import { Credential } from './credential.entity.ts';

export interface CredentialReference {
  credentialId: string;
  /** The space of the model or tool server that refers to it; null for the whole tenant. */
  spaceId: string | null;
  /** Address to which the credential would be sent. */
  url: string;
  kinds: readonly CredentialKind[];
}

/**
 * Refuses a reference to a credential that could not be used, and locks the credential against deletion until the
 * transaction ends. One of another tenant or space is refused like an unknown one.
 * @throws `invalid_request` naming `credential_id`
 */
export async function requireUsable(ctx: Context, reference: CredentialReference): Promise<void> {
  const { credentialId, spaceId, url, kinds } = reference;
  const places = spaceId === null ? [null] : [null, spaceId];
  const credential = validate(credentialId)
    ? await ctx.em.findOne(
        Credential,
        { id: credentialId, ownerId: null, $or: places.map((place) => ({ spaceId: place })) },
        { lockMode: LockMode.PESSIMISTIC_READ },
      )
    : null;
  if (credential === null) {
    throw invalid('credential_id', 'credential_id names no credential that can be used here.');
  }
  if (!kinds.includes(credential.kind)) {
    throw invalid(
      'credential_id',
      `credential_id names a credential of kind ${credential.kind}, which does not serve here.`,
    );
  }
  if (!isAtOrigin(credential.origin, url)) {
    throw invalid('credential_id', 'credential_id names a credential of another origin than the address.');
  }
}
