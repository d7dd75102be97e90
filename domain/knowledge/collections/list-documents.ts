import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import type { Page } from '#domain/foundation/kernel/page.ts';
import { keysetPage } from '#domain/foundation/persistence/keyset-list.ts';
import { Document } from './document.entity.ts';
import { findCollection } from './find-collection.ts';
import { sourceReading, whereReadable } from './source-reading.ts';

export interface ListDocuments {
  collectionId: string;
  limit: number;
  cursor: string | null;
}

/** A collection's documents without their content, newest first; those that the caller may read at their source. */
export async function listDocuments(ctx: Context, input: ListDocuments): Promise<Page<Document>> {
  authorize(ctx.caller, 'documents.read');
  const collection = await findCollection(ctx, input.collectionId);
  const { id: collectionId } = collection;
  const reading = await sourceReading(ctx.em, [collection], ctx.caller.principalId);
  return keysetPage(ctx, {
    limit: input.limit,
    cursor: input.cursor,
    entity: Document,
    where: { collectionId, ...whereReadable(reading) },
    operation: 'documents.list',
    filters: { collectionId },
  });
}
