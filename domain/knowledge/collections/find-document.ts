import { LockMode } from '@mikro-orm/core';
import { validate } from 'uuid';
import type { Context } from '#domain/foundation/access/context.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import { Document } from './document.entity.ts';
import { findCollection } from './find-collection.ts';
import { sourceReading, whereReadable } from './source-reading.ts';

/** The ids that address a document in the API. */
export interface DocumentRef {
  collectionId: string;
  documentId: string;
}

/** @throws `collection_not_found`, `document_not_found`, also where the caller may not read it at its source. */
export async function findDocument(ctx: Context, ref: DocumentRef, lockMode?: LockMode): Promise<Document> {
  const collection = await findCollection(ctx, ref.collectionId);
  const document = validate(ref.documentId)
    ? await ctx.em.findOne(
        Document,
        {
          id: ref.documentId,
          collectionId: collection.id,
          ...whereReadable(await sourceReading(ctx.em, [collection], ctx.caller.principalId)),
        },
        lockMode === undefined ? {} : { lockMode },
      )
    : null;
  if (document === null) {
    throw notFound('document_not_found');
  }
  return document;
}

/** Like `findDocument`, locked for a change. */
export function lockDocument(ctx: Context, ref: DocumentRef): Promise<Document> {
  return findDocument(ctx, ref, LockMode.PESSIMISTIC_WRITE);
}
