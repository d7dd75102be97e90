import type { Page } from '#domain/foundation/kernel/page.ts';
import { keysetPage } from '#domain/foundation/persistence/keyset-list.ts';
import { ApiKey } from './api-key.entity.ts';
import { authorizeOwn } from '#domain/foundation/access/authorize-own.ts';
import type { Context } from '#domain/foundation/access/context.ts';

/**
 * The tenant's keys, revoked and expired ones included, newest first; without `api_keys.read` the caller's own.
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
