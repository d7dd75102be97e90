import type { Context } from '#domain/access/context.ts';
import { showRestored } from '#domain/governance/show-restored.ts';
import { invalid } from '#domain/kernel/errors.ts';
import type { Item } from './output-items.ts';
import { findOwn } from './response-access.ts';

export interface PageInputItems {
  responseId: string;
  limit: number;
  order: 'asc' | 'desc';
  /** The last item that the caller has; null: from the beginning. */
  after: string | null;
}

/** What a response was given, paged by the items' own ids. */
export async function pageInputItems(
  ctx: Context,
  input: PageInputItems,
): Promise<{ items: Item[]; hasMore: boolean }> {
  const response = await findOwn(ctx, input.responseId, 'responses.read');
  const forward = input.order === 'asc';
  const place = input.after === null ? null : await placeOf(ctx, response.id, { ...input, id: input.after });
  const rows = await ctx.em.execute<{ wire: string }[]>(
    `select i.wire from response_context c join items i on i.tenant_id = c.tenant_id and i.id = c.item_id
       where c.response_id = ? and (?::integer is null or c.position ${forward ? '>' : '<'} ?::integer)
       order by c.position ${forward ? 'asc' : 'desc'} limit ?`,
    [response.id, place, place, input.limit + 1],
  );
  return {
    items: await showRestored(
      ctx,
      response,
      rows.slice(0, input.limit).map((row) => JSON.parse(row.wire) as Item),
    ),
    hasMore: rows.length > input.limit,
  };
}

/** An item may have been given twice: the place furthest on, so that paging comes to an end. */
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
