import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { start } from '#domain/foundation/durable/messages.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { claimKey, type IdempotentRequest } from '#domain/foundation/idempotency/idempotency.ts';
import { sha256 } from '#domain/foundation/kernel/canonical-json.ts';
import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import { DomainError, invalid } from '#domain/foundation/kernel/errors.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { refuseGone } from '#domain/foundation/persistence/refuse-gone.ts';
import { collectionLimits, requireText } from './collection-limits.ts';
import { Document } from './document.entity.ts';
import type { DocumentMediaType } from './document-status.ts';
import { findCollection } from './find-collection.ts';
import { findDocument } from './find-document.ts';

export interface UploadDocument {
  collectionId: string;
  filename: string;
  mediaType: DocumentMediaType;
  content: string;
  metadata?: Record<string, string>;
  idempotency?: IdempotentRequest | null;
}

/**
 * Stores a document and enqueues its extraction; it is `processing` until that is done.
 * @throws `missing_permission`, `collection_not_found`, `invalid_request`, `rate_limited`, and the refusals of `claimKey`.
 */
export async function uploadDocument(
  ctx: Context,
  input: UploadDocument,
): Promise<{ document: Document; replayed: boolean }> {
  authorize(ctx.caller, 'documents.write');
  const collection = await findCollection(ctx, input.collectionId);
  const id = newId();
  const claimed = input.idempotency ? await claimKey(ctx, input.idempotency, id) : id;
  if (claimed !== id) {
    const ref = { collectionId: collection.id, documentId: claimed };
    return { document: await findDocument(ctx, ref), replayed: true };
  }
  await refuseWhileManyWait(ctx);
  const content = cleanText(input.content);
  const { tenantId } = ctx.caller;
  const document = ctx.em.create(Document, {
    tenantId,
    id,
    collectionId: collection.id,
    filename: requireText('filename', cleanText(input.filename), collectionLimits.filename),
    mediaType: input.mediaType,
    content,
    contentHash: sha256(content),
    byteSize: measure(content),
    metadata: input.metadata ?? {},
    createdBy: ctx.caller.principalId,
  });
  const gone = refuseGone('collection_not_found', 'documents_tenant_id_collection_id_fkey');
  await ctx.em.persist(document).flush().catch(gone);
  await ctx.enqueue(start('ingestDocument', { tenantId, documentId: id }));
  await recordEvent(ctx.em, ctx.caller, {
    type: 'collection.documents_added',
    resource: { type: 'collection', id: collection.id },
    metadata: { count: 1, document_id: id, filename: document.filename },
  });
  return { document, replayed: false };
}

/** Each that waits is looked at again and again by the workers, which are everybody's. */
async function refuseWhileManyWait({ em, caller }: Context): Promise<void> {
  const most = collectionLimits.processing;
  const [waiting] = await em.execute<{ n: number }[]>(
    `select count(*)::int as n from
       (select from documents where tenant_id = ? and status = 'processing' limit ?) as waiting`,
    [caller.tenantId, most],
  );
  if ((waiting?.n ?? 0) >= most) {
    throw new DomainError('rate_limited', `${most} documents of this tenant wait to be read already.`, {
      retryAfter: 15,
    });
  }
}

function measure(content: string): number {
  const bytes = Buffer.byteLength(content);
  if (content.trim() === '' || bytes > collectionLimits.contentBytes) {
    throw invalid(
      'content',
      `content must have 1 to ${collectionLimits.contentBytes} bytes that are not blank.`,
    );
  }
  return bytes;
}
