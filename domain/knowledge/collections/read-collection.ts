import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import type { Collection } from './collection.entity.ts';
import { collectionStatistics, type CollectionStatistics } from './collection-statistics.ts';
import { findCollection } from './find-collection.ts';

export interface CountedCollection {
  collection: Collection;
  statistics: CollectionStatistics;
}

/** @throws `missing_permission`, `collection_not_found` */
export async function readCollection(
  ctx: Context,
  input: { collectionId: string },
): Promise<CountedCollection> {
  authorize(ctx.caller, 'collections.read');
  const collection = await findCollection(ctx, input.collectionId);
  return { collection, statistics: await collectionStatistics(ctx.em, collection) };
}
