import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { decodeCursor, encodeCursor, type Page } from '#domain/foundation/kernel/page.ts';
import { findDocument, type DocumentRef } from './find-document.ts';

export interface ListPassages extends DocumentRef {
  limit: number;
  cursor: string | null;
}

/** A piece of a document's text, as the search finds it. */
export interface Passage {
  position: number;
  heading: string | null;
  text: string;
  start: number;
  end: number;
  page: number | null;
  anchor: string | null;
}

/**
 * The passages that searches find of a document, in its order. Where it is read again between two pages, the list
 * goes on behind the same position of the new reading.
 * @throws `missing_permission`, `collection_not_found`, `document_not_found`, `invalid_cursor`
 */
export async function listPassages(ctx: Context, input: ListPassages): Promise<Page<Passage>> {
  authorize(ctx.caller, 'documents.read');
  const { tenantId, id: documentId, generation } = await findDocument(ctx, input);
  const scope = { tenantId, operation: 'documents.passages', filters: { documentId } };
  const after = input.cursor === null ? -1 : Number(decodeCursor(ctx.secrets, scope, input.cursor).createdAt);
  const rows = await ctx.em.execute<Passage[]>(
    `select position, heading, text, start_offset as start, end_offset as "end", page, anchor from chunks
     where tenant_id = ? and document_id = ? and generation = ? and position > ? order by position limit ?`,
    [tenantId, documentId, generation, after, input.limit + 1],
  );
  const items = rows.slice(0, input.limit);
  const last = items.at(-1);
  return {
    items,
    nextCursor:
      last === undefined || rows.length === items.length
        ? null
        : encodeCursor(ctx.secrets, scope, { createdAt: String(last.position), id: documentId }),
  };
}
