import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { Document } from './document.entity.ts';
import { lockCollection } from './find-collection.ts';

/** Deletes a collection with its documents and their passages. A running extraction then stores nothing. */
export async function deleteCollection(ctx: Context, input: { collectionId: string }): Promise<void> {
  authorize(ctx.caller, 'collections.delete');
  const collection = await lockCollection(ctx, input.collectionId);
  const documents = await ctx.em.count(Document, { collectionId: collection.id });
  await ctx.em.remove(collection).flush();
  await recordEvent(ctx.em, ctx.caller, {
    type: 'collection.deleted',
    resource: { type: 'collection', id: collection.id },
    metadata: { space_id: collection.spaceId, documents },
  });
}
