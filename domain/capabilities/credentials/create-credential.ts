import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { claimKey, keyed, type IdempotentRequest } from '#domain/foundation/idempotency/idempotency.ts';
import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import { invalid } from '#domain/foundation/kernel/errors.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { mapUniqueViolation } from '#domain/foundation/persistence/map-unique-violation.ts';
import { sealField } from '#domain/foundation/secrets/seal-field.ts';
import { requireOrigin } from './credential-origin.ts';
import { checkValue, type CredentialKind, type GivenValue } from './credential-value.ts';
import { Credential, valuePlace } from './credential.entity.ts';
import { eventOf } from './credential-event.ts';
import { findCredential } from './find-credential.ts';

export interface CreateCredential {
  name: string;
  kind: CredentialKind;
  origin: string;
  value: GivenValue;
  idempotency: IdempotentRequest | null;
}

/**
 * Stores a credential of the caller's space, or of the whole tenant if the caller was admitted to no space. The value
 * is sealed at once and never shown again.
 * @throws `missing_permission`, `invalid_request`, `url_not_allowed`, `already_exists`, and the refusals of
 *   `claimKey`
 */
export async function createCredential(
  ctx: Context,
  input: CreateCredential,
): Promise<{ credential: Credential; replayed: boolean }> {
  authorize(ctx.caller, 'credentials.manage');
  const { tenantId, principalId, spaceId } = ctx.caller;
  const id = newId();
  const claimed = input.idempotency === null ? id : await claimKey(ctx, keyed(ctx, input.idempotency), id);
  if (claimed !== id) {
    return { credential: await findCredential(ctx, claimed), replayed: true };
  }
  const value = checkValue(input.kind, input.value);
  const credential = ctx.em.create(Credential, {
    tenantId,
    id,
    spaceId,
    ownerId: null,
    name: credentialName(input.name),
    kind: input.kind,
    origin: requireOrigin(input.origin),
    headerName: value.kind === 'header' ? value.name : null,
    sealedValue: await sealField(ctx, valuePlace({ tenantId, id }), JSON.stringify(value)),
    createdBy: principalId,
  });
  const taken = mapUniqueViolation('There is a credential with this name.', 'name');
  await ctx.em.persist(credential).flush().catch(taken);
  await recordEvent(ctx.em, ctx.caller, eventOf('security.credential_created', credential));
  return { credential, replayed: false };
}

export function credentialName(text: string): string {
  const name = cleanText(text).trim();
  if (name === '' || name.length > 200) {
    throw invalid('name', 'name must have 1 to 200 characters.');
  }
  return name;
}
