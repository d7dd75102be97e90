import type { Context } from './context.ts';
import { createApiKey, type NewApiKey } from './create-api-key.ts';
import { authorize } from './policy.ts';
import { requireNoMore } from './require-no-more.ts';
import { findPrincipal } from '#domain/principals/find-principal.ts';

/**
 * A key of a principal of the caller's tenant. @returns the token, shown once
 * @throws `missing_permission`, also where the key could do what the caller may not; `principal_not_found`
 */
export async function issueApiKey(
  ctx: Context,
  input: NewApiKey,
): Promise<{ id: string; keyId: string; token: string }> {
  const { caller, em, secrets } = ctx;
  authorize(caller, 'api_keys.create');
  const { id: principalId } = await findPrincipal(ctx, input.principalId);
  const { tenantId } = caller;
  await requireNoMore(ctx, { tenantId, principalId, apiKeyId: null, keyPermissions: input.permissions });
  return createApiKey({ em, secrets, actor: caller }, input);
}
