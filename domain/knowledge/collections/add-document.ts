import type { StoredBytes } from '#domain/foundation/bytes/byte-store.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { start } from '#domain/foundation/durable/messages.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { claimKey, type IdempotentRequest } from '#domain/foundation/idempotency/idempotency.ts';
import { DomainError, notFound } from '#domain/foundation/kernel/errors.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { cleanFilename } from './clean-filename.ts';
import { collectionLimits } from './collection-limits.ts';
import { Document } from './document.entity.ts';
import type { DocumentMediaType } from './document-status.ts';
import { findCollection } from './find-collection.ts';
import { findDocument } from './find-document.ts';
import { shareCollection } from './share-collection.ts';

export interface AddDocument {
  collectionId: string;
  filename: string;
  metadata: Record<string, string>;
  idempotency: IdempotentRequest | null;
  /** Stores the content in the transaction of the document. */
  store(ctx: Context): Promise<{ mediaType: DocumentMediaType; stored: StoredBytes }>;
}

export interface AddedDocument {
  document: Document;
  replayed: boolean;
}

/**
 * Adds a document and enqueues its extraction; it is `processing` until then.
 * @throws `missing_permission`, `collection_not_found`, `invalid_request`, `rate_limited`, what `store` throws, and
 *   the refusals of `claimKey`.
 */
export async function addDocument(ctx: Context, input: AddDocument): Promise<AddedDocument> {
  authorize(ctx.caller, 'documents.write');
  const collection = await findCollection(ctx, input.collectionId);
  const id = newId();
  const claimed = input.idempotency ? await claimKey(ctx, input.idempotency, id) : id;
  if (claimed !== id) {
    const ref = { collectionId: collection.id, documentId: claimed };
    return { document: await findDocument(ctx, ref), replayed: true };
  }
  await rejectTooManyPending(ctx);
  const { tenantId } = ctx.caller;
  const filename = cleanFilename(input.filename);
  if (!(await shareCollection(ctx.em, collection.id))) {
    throw notFound('collection_not_found');
  }
  const { mediaType, stored } = await input.store(ctx);
  const document = ctx.em.create(Document, {
    tenantId,
    id,
    collectionId: collection.id,
    filename,
    mediaType,
    contentKey: stored.key,
    contentHash: stored.sha256,
    byteSize: stored.byteSize,
    metadata: input.metadata,
    createdBy: ctx.caller.principalId,
  });
  await ctx.em.persist(document).flush();
  await ctx.enqueue(start('ingestDocument', { tenantId, documentId: id }));
  await recordEvent(ctx.em, ctx.caller, {
    type: 'collection.documents_added',
    resource: { type: 'collection', id: collection.id },
    metadata: { count: 1, document_id: id, filename: document.filename },
  });
  return { document, replayed: false };
}

/** Pending documents cost repeated attempts of the workers, which all tenants share. @throws `rate_limited` */
export async function rejectTooManyPending({ em, caller }: Context): Promise<void> {
  const max = collectionLimits.processing;
  const [waiting] = await em.execute<{ n: number }[]>(
    `select count(*)::int as n from
       (select from documents where tenant_id = ? and status = 'processing' limit ?) as waiting`,
    [caller.tenantId, max],
  );
  if ((waiting?.n ?? 0) >= max) {
    throw new DomainError('rate_limited', `${max} documents of this tenant wait to be read already.`, {
      retryAfter: 15,
    });
  }
}
