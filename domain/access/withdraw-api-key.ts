import { notFound } from '#domain/kernel/errors.ts';
import { ApiKey } from './api-key.entity.ts';
import type { Context } from './context.ts';
import { authorize } from './policy.ts';
import { revokeApiKey } from './revoke-api-key.ts';

/**
 * Revokes a key of the tenant by the part between `ak.` and the second dot; repeating it changes nothing.
 * @throws `missing_permission`, `api_key_not_found`
 */
export async function withdrawApiKey(ctx: Context, input: { keyId: string }): Promise<ApiKey> {
  authorize(ctx.caller, 'api_keys.revoke');
  await revokeApiKey(ctx.em, ctx.caller, input.keyId);
  const key = await ctx.em.findOne(ApiKey, { keyId: input.keyId });
  if (key === null) {
    throw notFound('api_key_not_found');
  }
  return key;
}
