import { LockMode } from '@mikro-orm/core';
import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { mapUniqueViolation } from '#domain/foundation/persistence/map-unique-violation.ts';
import { sealField } from '#domain/foundation/secrets/seal-field.ts';
import { credentialName } from './create-credential.ts';
import { eventOf } from './credential-event.ts';
import { checkValue, type GivenValue } from './credential-value.ts';
import { valuePlace, type Credential } from './credential.entity.ts';
import { findCredential } from './find-credential.ts';

/** Omitted fields stay unchanged. Kind and origin are fixed: a stored value is never sent anywhere else. */
export interface UpdateCredential {
  credentialId: string;
  name?: string | undefined;
  value?: GivenValue | undefined;
}

/**
 * Renames a credential, or rotates it: its users send the new value from their next request on.
 * @throws `missing_permission`, `credential_not_found`, `invalid_request`, `already_exists`
 */
export async function updateCredential(ctx: Context, input: UpdateCredential): Promise<Credential> {
  authorize(ctx.caller, 'credentials.manage');
  const credential = await findCredential(ctx, input.credentialId, LockMode.PESSIMISTIC_WRITE);
  const name = input.name === undefined ? credential.name : credentialName(input.name);
  const isRenamed = name !== credential.name;
  if (!isRenamed && input.value === undefined) {
    return credential;
  }
  const now = await databaseNow(ctx.em);
  credential.name = name;
  credential.updatedAt = now;
  if (input.value !== undefined) {
    const value = checkValue(credential.kind, input.value);
    credential.sealedValue = await sealField(ctx, valuePlace(credential), JSON.stringify(value));
    credential.headerName = value.kind === 'header' ? value.name : null;
    credential.version += 1;
    credential.rotatedAt = now;
  }
  await ctx.em.flush().catch(mapUniqueViolation('There is a credential with this name.', 'name'));
  if (isRenamed) {
    await recordEvent(ctx.em, ctx.caller, eventOf('security.credential_updated', credential, ['name']));
  }
  if (input.value !== undefined) {
    await recordEvent(ctx.em, ctx.caller, eventOf('security.credential_rotated', credential));
  }
  return credential;
}
