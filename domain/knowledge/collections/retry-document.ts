import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { signalWithStart } from '#domain/foundation/durable/messages.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import type { Document } from './document.entity.ts';
import { lockDocument, type DocumentRef } from './find-document.ts';

/**
 * Reads a failed document again, from its stored content: its workflow runs again under the same id.
 * @throws `missing_permission`, `collection_not_found`, `document_not_found`, `invalid_state` unless it failed
 */
export async function retryDocument(ctx: Context, ref: DocumentRef): Promise<Document> {
  authorize(ctx.caller, 'documents.write');
  const document = await lockDocument(ctx, ref);
  if (document.status !== 'failed') {
    throw new DomainError('invalid_state', `A ${document.status} document cannot be retried.`);
  }
  document.retry();
  await ctx.em.flush();
  const { tenantId, id } = document;
  // A start alone would be lost where the workflow that failed has yet to close.
  await ctx.enqueue(signalWithStart('ingestDocument', { tenantId, documentId: id }, 'retried', []));
  await recordEvent(ctx.em, ctx.caller, {
    type: 'collection.documents_retried',
    resource: { type: 'collection', id: document.collectionId },
    metadata: { count: 1, document_id: id },
  });
  return document;
}
