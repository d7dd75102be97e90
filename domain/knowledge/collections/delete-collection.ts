import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { beginErasure } from '#domain/foundation/erasures/begin-erasure.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { Document } from './document.entity.ts';
import { lockCollection } from './find-collection.ts';

/**
 * Deletes a collection: from the commit on nobody finds it, and a running extraction stores nothing. Its documents and
 * their passages are erased afterwards, in batches.
 */
export async function deleteCollection(ctx: Context, input: { collectionId: string }): Promise<void> {
  authorize(ctx.caller, 'collections.delete');
  const collection = await lockCollection(ctx, input.collectionId);
  const documents = await ctx.em.count(Document, { collectionId: collection.id });
  await beginErasure(ctx, 'collection', collection.id);
  await recordEvent(ctx.em, ctx.caller, {
    type: 'collection.deleted',
    resource: { type: 'collection', id: collection.id },
    metadata: { space_id: collection.spaceId, documents },
  });
}
