import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import type { Document } from './document.entity.ts';
import { findDocument, type DocumentRef } from './find-document.ts';

/** One document without its content. */
export async function readDocument(ctx: Context, ref: DocumentRef): Promise<Document> {
  authorize(ctx.caller, 'documents.read');
  return findDocument(ctx, ref);
}
