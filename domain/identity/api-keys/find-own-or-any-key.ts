import { notFound } from '#domain/foundation/kernel/errors.ts';
import { ApiKey } from './api-key.entity.ts';
import { authorizeOwn } from '#domain/foundation/access/authorize-own.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import type { Permission } from '#domain/foundation/access/permissions.ts';

/**
 * The caller's own key needs no grant; another principal's needs `permission`.
 * @throws `missing_permission` also for an unknown key, `api_key_not_found`
 */
export async function findOwnOrAnyKey(
  ctx: Context,
  where: { id: string } | { keyId: string },
  permission: Permission,
): Promise<ApiKey> {
  const key = await ctx.em.findOne(ApiKey, where);
  authorizeOwn(ctx.caller, permission, key?.principalId);
  if (key === null) {
    throw notFound('api_key_not_found');
  }
  return key;
}
