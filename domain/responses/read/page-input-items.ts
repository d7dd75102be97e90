import type { Context } from '#domain/foundation/access/context.ts';
import { showRestored } from '#domain/conversations/threads/show-restored.ts';
import { invalid } from '#domain/foundation/kernel/errors.ts';
import { readInputPage } from '#domain/responses/store/input-page.ts';
import type { Item } from '#domain/responses/record/output-items.ts';
import { findOwn } from '#domain/responses/store/response-access.ts';

export interface PageInputItems {
  responseId: string;
  limit: number;
  order: 'asc' | 'desc';
  /** The last item that the caller has; null: from the beginning. */
  after: string | null;
}

/** The input items of a response, paged by the items' own ids. */
export async function pageInputItems(
  ctx: Context,
  input: PageInputItems,
): Promise<{ items: Item[]; hasMore: boolean }> {
  const response = await findOwn(ctx, input.responseId, 'responses.read');
  const { limit, order } = input;
  const after = input.after === null ? null : await placeOf(ctx, response.id, { order, id: input.after });
  const { items, hasMore } = await readInputPage(ctx.em, { responseId: response.id, after, order, limit });
  return { items: await showRestored(ctx, response, items), hasMore };
}

/** An item may occur twice: the furthest place is used, so that paging ends. */
async function placeOf(
  ctx: Context,
  responseId: string,
  { id, order }: { id: string; order: 'asc' | 'desc' },
): Promise<number> {
  const [row] = await ctx.em.execute<{ position: number | null }[]>(
    `select ${order === 'asc' ? 'max' : 'min'}(position) as position from response_context
       where response_id = ? and item_id = ?`,
    [responseId, id],
  );
  if (row?.position == null) {
    throw invalid('after', 'after names no input item of this response.');
  }
  return row.position;
}
