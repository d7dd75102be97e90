import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { spaceOf } from '#domain/foundation/access/space-of.ts';
import type { Page } from '#domain/foundation/kernel/page.ts';
import { keysetPage } from '#domain/foundation/persistence/keyset-list.ts';
import { Collection } from './collection.entity.ts';

export interface ListCollections {
  limit: number;
  cursor: string | null;
}

/** The space's collections, newest first. */
export async function listCollections(ctx: Context, input: ListCollections): Promise<Page<Collection>> {
  authorize(ctx.caller, 'collections.read');
  const spaceId = spaceOf(ctx.caller);
  return keysetPage(ctx, {
    ...input,
    entity: Collection,
    where: { spaceId },
    operation: 'collections.list',
    filters: { spaceId },
  });
}
