import { claimKey, type IdempotentRequest } from '#domain/foundation/idempotency/idempotency.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { findPrincipal } from '#domain/identity/principals/find-principal.ts';
import { ApiKey } from './api-key.entity.ts';
import { authorizeOwn } from '#domain/foundation/access/authorize-own.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { createApiKey, type NewApiKey } from './create-api-key.ts';
import { makersOfNew } from './credential-makers.ts';
import { requireRoomForKey } from './live-keys.ts';
import { requireNoMore } from '#domain/identity/roles/require-no-more.ts';

export interface IssuedApiKey {
  id: string;
  keyId: string;
  /** Shown once; null for a repeated request, whose key exists already. */
  token: string | null;
}

/**
 * Creates a key for a principal of the caller's tenant; one for the caller itself needs no grant.
 * @throws `missing_permission`, also where the key would exceed the permissions of the caller, or of the caller's
 *   key; `principal_not_found`, `invalid_state` for a principal with too many keys, and the refusals of `claimKey`
 */
export async function issueApiKey(
  ctx: Context,
  input: NewApiKey & { idempotency?: IdempotentRequest | null },
): Promise<IssuedApiKey> {
  const { caller, em, secrets } = ctx;
  const { idempotency, ...wanted } = input;
  authorizeOwn(caller, 'api_keys.create', wanted.principalId);
  const { id: principalId } = await findPrincipal(ctx, wanted.principalId);
  const { tenantId } = caller;
  await requireNoMore(ctx, { tenantId, principalId, apiKeyId: null, keyPermissions: wanted.permissions });
  const id = newId();
  const claimed = idempotency == null ? id : await claimKey(ctx, idempotency, id);
  if (claimed !== id) {
    const known = await em.findOne(ApiKey, { id: claimed });
    if (known === null) {
      throw notFound('api_key_not_found');
    }
    return { id: known.id, keyId: known.keyId, token: null };
  }
  await requireRoomForKey(em, { tenantId, principalId });
  const makers = await makersOfNew(ctx, principalId);
  return createApiKey({ em, secrets, actor: caller }, { ...wanted, id, makers });
}
