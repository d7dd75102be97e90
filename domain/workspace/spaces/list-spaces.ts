import { authorizeOwn } from '#domain/foundation/access/authorize-own.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import type { Page } from '#domain/foundation/kernel/page.ts';
import { keysetPage } from '#domain/foundation/persistence/keyset-list.ts';
import { spacesGranting } from '#domain/identity/roles/spaces-granting.ts';
import { Space } from './space.entity.ts';

/**
 * Newest first: the tenant's spaces; without a tenant-wide `spaces.read`, those whose membership grants it to the
 * caller.
 * @throws `missing_permission` for a key without it, `invalid_cursor`
 */
export async function listSpaces(
  ctx: Context,
  input: { limit: number; cursor: string | null },
): Promise<Page<Space>> {
  const { granted, principalId } = ctx.caller;
  authorizeOwn(ctx.caller, 'spaces.read', principalId);
  const isWhole = granted.has('spaces.read');
  return keysetPage(ctx, {
    entity: Space,
    where: isWhole ? {} : { id: { $in: await spacesGranting(ctx, 'spaces.read') } },
    ...input,
    operation: 'spaces.list',
    filters: isWhole ? {} : { principalId },
  });
}
