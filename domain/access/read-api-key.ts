import type { ApiKey } from './api-key.entity.ts';
import type { Context } from './context.ts';
import { findOwnOrAnyKey } from './find-own-or-any-key.ts';

/** One's own key needs no grant. @throws `missing_permission`, `api_key_not_found` */
export function readApiKey(ctx: Context, input: { id: string }): Promise<ApiKey> {
  return findOwnOrAnyKey(ctx, input, 'api_keys.read');
}
