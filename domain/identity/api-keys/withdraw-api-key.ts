import { findCaller } from '#domain/identity/principals/find-principal.ts';
import type { ApiKey } from './api-key.entity.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { findOwnOrAnyKey } from './find-own-or-any-key.ts';
import { revokeApiKey } from './revoke-api-key.ts';

/**
 * Revokes a key, by its id or by the part between `ak.` and the second dot; repeating it changes nothing. The
 * caller's own needs no grant.
 * @throws `missing_permission`, `api_key_not_found`, and `principal_not_found` for a caller who is being deleted
 */
export async function withdrawApiKey(
  ctx: Context,
  input: { id: string } | { keyId: string },
): Promise<ApiKey> {
  const key = await findOwnOrAnyKey(ctx, input, 'api_keys.revoke');
  await findCaller(ctx);
  await revokeApiKey(ctx.em, ctx.caller, key.keyId);
  return ctx.em.refreshOrFail(key);
}
