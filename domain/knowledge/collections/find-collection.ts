import { LockMode } from '@mikro-orm/core';
import { validate } from 'uuid';
import type { Context } from '#domain/foundation/access/context.ts';
import { spaceOf } from '#domain/foundation/access/space-of.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import { Collection } from './collection.entity.ts';

/** @throws `collection_not_found`, also for a collection of another space. */
export async function findCollection(
  ctx: Context,
  collectionId: string,
  lockMode?: LockMode,
): Promise<Collection> {
  const collection = validate(collectionId)
    ? await ctx.em.findOne(
        Collection,
        { id: collectionId, spaceId: spaceOf(ctx.caller), deletedAt: null },
        lockMode === undefined ? {} : { lockMode },
      )
    : null;
  if (collection === null) {
    throw notFound('collection_not_found');
  }
  return collection;
}

/** Like `findCollection`, locked for a change. */
export function lockCollection(ctx: Context, collectionId: string): Promise<Collection> {
  return findCollection(ctx, collectionId, LockMode.PESSIMISTIC_WRITE);
}
