import type { Context } from '#domain/foundation/access/context.ts';
import { showRestored } from '#domain/conversations/threads/show-restored.ts';
import { decodeCursor, encodeCursor, type Page } from '#domain/foundation/kernel/page.ts';
import { readInputPage } from '#domain/responses/store/input-page.ts';
import type { Item } from '#domain/responses/record/output-items.ts';
import { findOwn } from '#domain/responses/store/response-access.ts';

/** The input items of a response, in order: its chain's snapshot and its own input. */
export async function listInputItems(
  ctx: Context,
  input: { responseId: string; limit: number; cursor: string | null },
): Promise<Page<Item>> {
  const response = await findOwn(ctx, input.responseId, 'responses.read');
  const scope = {
    tenantId: response.tenantId,
    operation: 'responses.input_items',
    filters: { id: response.id },
  };
  const after = input.cursor === null ? null : Number(decodeCursor(ctx.secrets, scope, input.cursor).id);
  const { limit } = input;
  const page = await readInputPage(ctx.em, { responseId: response.id, after, order: 'asc', limit });
  return {
    items: await showRestored(ctx, response, page.items),
    nextCursor: page.hasMore
      ? encodeCursor(ctx.secrets, scope, { createdAt: '', id: String(page.last) })
      : null,
  };
}
