import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import type { Collection } from './collection.entity.ts';
import { findCollection } from './find-collection.ts';

/** @throws `missing_permission`, `collection_not_found` */
export async function readCollection(ctx: Context, input: { collectionId: string }): Promise<Collection> {
  authorize(ctx.caller, 'collections.read');
  return findCollection(ctx, input.collectionId);
}
