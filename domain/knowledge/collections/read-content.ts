import { PostgresByteStore } from '#domain/foundation/bytes/postgres-byte-store.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import type { Document } from './document.entity.ts';
import type { DocumentRef } from './find-document.ts';
import { readDocument } from './read-document.ts';

/** Runs one step of a reading with the caller's permissions, in a transaction of its own. */
type InContext = <T>(work: (ctx: Context) => Promise<T>) => Promise<T>;

/**
 * A document's original bytes, read part by part on demand.
 * @throws `missing_permission`, `collection_not_found`, `document_not_found`
 */
export async function readContent(
  inContext: InContext,
  ref: DocumentRef,
): Promise<{ document: Document; bytes: AsyncIterable<Uint8Array> }> {
  const document = await inContext((ctx) => readDocument(ctx, ref));
  const store = PostgresByteStore.inSteps(document.tenantId, (step) => inContext(({ em }) => step(em)));
  return { document, bytes: store.open(document.contentKey) };
}
