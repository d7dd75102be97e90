import { validate } from 'uuid';
import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { lockDocument, type DocumentRef } from './find-document.ts';
import { shareCollection } from './share-collection.ts';

/** Deletes a document with its passages: no later search finds them. The purge deletes its bytes. */
export async function deleteDocument(ctx: Context, ref: DocumentRef): Promise<void> {
  authorize(ctx.caller, 'documents.delete');
  if (validate(ref.collectionId)) {
    await shareCollection(ctx.em, ref.collectionId);
  }
  const document = await lockDocument(ctx, ref);
  await ctx.em.remove(document).flush();
  await recordEvent(ctx.em, ctx.caller, {
    type: 'collection.documents_deleted',
    resource: { type: 'collection', id: document.collectionId },
    metadata: { count: 1, document_id: document.id },
  });
}
