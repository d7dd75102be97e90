import type { Page } from '#domain/kernel/page.ts';
import { keysetPage } from '#domain/persistence/keyset-list.ts';
import { ApiKey } from './api-key.entity.ts';
import type { Context } from './context.ts';
import { authorize } from './policy.ts';

/** The tenant's keys, revoked and expired ones included, newest first. @throws `missing_permission`, `invalid_cursor` */
export async function listApiKeys(
  ctx: Context,
  input: { limit: number; cursor: string | null },
): Promise<Page<ApiKey>> {
  authorize(ctx.caller, 'api_keys.read');
  return keysetPage(ctx, { entity: ApiKey, where: {}, ...input, operation: 'api_keys.list', filters: {} });
}
