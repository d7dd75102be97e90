import type { Context } from '#domain/foundation/access/context.ts';
import { start } from '#domain/foundation/durable/messages.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { rejectTooManyPending } from './add-document.ts';
import { collectionLimits } from './collection-limits.ts';
import { Document } from './document.entity.ts';

/**
 * Reads all documents of a locked collection again; they are found by their earlier passages until then. The caller's
 * lock keeps new documents and passages out.
 * @returns their number
 * @throws `invalid_state` while one is being read, since its passages may be stored already, or for too many
 */
export async function rereadDocuments(ctx: Context, collectionId: string): Promise<number> {
  const max = collectionLimits.processing;
  const documents = await ctx.em.find(Document, { collectionId }, { orderBy: { id: 'asc' }, limit: max + 1 });
  if (documents.some(({ status }) => status === 'processing')) {
    throw new DomainError(
      'invalid_state',
      'Documents of this collection are being read: try again afterwards.',
      {
        param: 'text_search_config',
        retryAfter: 15,
      },
    );
  }
  if (documents.length > max) {
    throw new DomainError(
      'invalid_state',
      `The language of a collection with more than ${max} documents cannot change: fill another collection.`,
      { param: 'text_search_config' },
    );
  }
  // A failed document without passages is in no language.
  const read = documents.filter(({ status, generation }) => status === 'ready' || generation > 0);
  if (read.length > 0) {
    await rejectTooManyPending(ctx, read.length);
  }
  for (const document of read) {
    document.reread();
  }
  await ctx.em.flush();
  for (const { tenantId, id } of read) {
    await ctx.enqueue(start('ingestDocument', { tenantId, documentId: id }));
  }
  return read.length;
}
