import { TooManyBytes } from '#domain/foundation/bytes/byte-store.ts';
import { PostgresByteStore } from '#domain/foundation/bytes/postgres-byte-store.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { start } from '#domain/foundation/durable/messages.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { claimKey, type IdempotentRequest } from '#domain/foundation/idempotency/idempotency.ts';
import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import { DomainError, invalid, notFound } from '#domain/foundation/kernel/errors.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { collectionLimits, contentLimits, requireText, type ContentLimits } from './collection-limits.ts';
import { Document } from './document.entity.ts';
import { documentMediaTypes, type DocumentMediaType } from './document-status.ts';
import { findCollection } from './find-collection.ts';
import { findDocument } from './find-document.ts';
import { detectMediaType } from './media-type.ts';
import { shareCollection } from './share-collection.ts';

export interface UploadDocument {
  collectionId: string;
  filename: string;
  /** Declared by the caller; the detected type takes precedence. */
  mediaType: DocumentMediaType;
  content: string;
  /** Max bytes of a document of each type. */
  limits?: ContentLimits;
  metadata?: Record<string, string>;
  idempotency?: IdempotentRequest | null;
}

/**
 * Stores a document and enqueues its extraction; it is `processing` until then.
 * @throws `missing_permission`, `collection_not_found`, `invalid_request`, `rate_limited`, and the refusals of
 *   `claimKey`.
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
  await rejectTooManyPending(ctx);
  const { tenantId } = ctx.caller;
  const filename = requireText('filename', cleanText(input.filename), collectionLimits.filename);
  if (!(await shareCollection(ctx.em, collection.id))) {
    throw notFound('collection_not_found');
  }
  const { mediaType, stored } = await storeContent(ctx, input);
  const document = ctx.em.create(Document, {
    tenantId,
    id,
    collectionId: collection.id,
    filename,
    mediaType,
    contentKey: stored.key,
    contentHash: stored.sha256,
    byteSize: stored.byteSize,
    metadata: input.metadata ?? {},
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

/** Pending documents cost repeated attempts of the workers, which all tenants share. */
async function rejectTooManyPending({ em, caller }: Context): Promise<void> {
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

async function storeContent({ em, caller }: Context, input: UploadDocument) {
  const text = cleanText(input.content);
  const content = Buffer.from(text);
  const mediaType = readableType(content, input.mediaType);
  const maxBytes = (input.limits ?? contentLimits)[mediaType];
  const refused = () => invalid('content', `content must have 1 to ${maxBytes} bytes that are not blank.`);
  if (text.trim() === '') {
    throw refused();
  }
  const store = PostgresByteStore.within(caller.tenantId, em);
  const stored = await store.put([content], { purpose: 'documents', maxBytes }).catch((error: unknown) => {
    throw error instanceof TooManyBytes ? refused() : error;
  });
  return { mediaType, stored };
}

function readableType(content: Uint8Array, declared: DocumentMediaType): DocumentMediaType {
  const detected = detectMediaType(content, declared);
  const known = documentMediaTypes.find((mediaType) => mediaType === detected);
  if (known === undefined) {
    throw invalid('content', `content is ${detected}, not one of ${documentMediaTypes.join(', ')}.`);
  }
  return known;
}
