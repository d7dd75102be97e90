import type { Context } from '#domain/access/context.ts';
import { authorize } from '#domain/access/policy.ts';
import type { Page } from '#domain/kernel/page.ts';
import { keysetPage } from '#domain/persistence/keyset-list.ts';
import { Space } from './space.entity.ts';

/** The tenant's spaces, newest first. @throws `missing_permission`, `invalid_cursor` */
export async function listSpaces(
  ctx: Context,
  input: { limit: number; cursor: string | null },
): Promise<Page<Space>> {
  authorize(ctx.caller, 'spaces.read');
  return keysetPage(ctx, { entity: Space, where: {}, ...input, operation: 'spaces.list', filters: {} });
}
