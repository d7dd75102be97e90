import type { ApiKey } from './api-key.entity.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { findOwnOrAnyKey } from './find-own-or-any-key.ts';

/**
 * A key by its id or by the part between `ak.` and the second dot. The caller's own needs no grant.
 * @throws `missing_permission`, `api_key_not_found`
 */
export function readApiKey(ctx: Context, input: { id: string } | { keyId: string }): Promise<ApiKey> {
  return findOwnOrAnyKey(ctx, input, 'api_keys.read');
}
