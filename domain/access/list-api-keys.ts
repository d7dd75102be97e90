import type { Page } from '#domain/kernel/page.ts';
import { keysetPage } from '#domain/persistence/keyset-list.ts';
import { ApiKey } from './api-key.entity.ts';
import { authorizeOwn } from './authorize-own.ts';
import type { Context } from './context.ts';

/**
 * The tenant's keys, revoked and expired ones included, newest first; without `api_keys.read` one's own.
 * @throws `missing_permission` for a key without it, `invalid_cursor`
 */
export async function listApiKeys(
  ctx: Context,
  input: { limit: number; cursor: string | null },
): Promise<Page<ApiKey>> {
  const { granted, principalId } = ctx.caller;
  const filters = granted.has('api_keys.read') ? {} : { principalId };
  authorizeOwn(ctx.caller, 'api_keys.read', principalId);
  return keysetPage(ctx, { entity: ApiKey, where: filters, ...input, operation: 'api_keys.list', filters });
}
