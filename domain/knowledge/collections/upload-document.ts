import { TooManyBytes } from '#domain/foundation/bytes/byte-store.ts';
import { PostgresByteStore } from '#domain/foundation/bytes/postgres-byte-store.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import type { IdempotentRequest } from '#domain/foundation/idempotency/idempotency.ts';
import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import { invalid } from '#domain/foundation/kernel/errors.ts';
import { addDocument, type AddedDocument } from './add-document.ts';
import { collectionLimits, contentLimits, type ContentLimits } from './collection-limits.ts';
import type { DocumentMediaType } from './document-status.ts';
import { readableTextType } from './readable-type.ts';

export interface UploadDocument {
  collectionId: string;
  filename: string;
  /** Declared by the caller; the detected type takes precedence. */
  mediaType: DocumentMediaType;
  /** A text: what cannot be stored in it is replaced. Files go to `uploadContent`. */
  content: string;
  /** Max bytes of a document of each type. */
  limits?: ContentLimits;
  metadata?: Record<string, string>;
  idempotency?: IdempotentRequest | null;
}

/**
 * Adds a document whose content is a text in memory.
 * @throws `unsupported_document_type`, `invalid_request`, and the refusals of `addDocument`.
 */
export function uploadDocument(ctx: Context, input: UploadDocument): Promise<AddedDocument> {
  return addDocument(ctx, {
    collectionId: input.collectionId,
    filename: input.filename,
    metadata: input.metadata ?? {},
    idempotency: input.idempotency ?? null,
    store: (inside) => storeText(inside, input),
  });
}

async function storeText({ em, caller }: Context, input: UploadDocument) {
  const text = cleanText(input.content);
  const content = Buffer.from(text);
  const mediaType = readableTextType(content, input.mediaType);
  const maxBytes = Math.min((input.limits ?? contentLimits)[mediaType], collectionLimits.contentBytes);
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
