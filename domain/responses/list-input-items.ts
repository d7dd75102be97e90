import type { Context } from '#domain/access/context.ts';
import { showRestored } from '#domain/governance/show-restored.ts';
import { decodeCursor, encodeCursor, type Page } from '#domain/kernel/page.ts';
import { readGiven } from './given-items.ts';
import type { Item } from './output-items.ts';
import { findOwn } from './response-access.ts';

/** What a response was given, in order: its chain's snapshot and its own input. */
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
  const page = await readGiven(ctx.em, { responseId: response.id, after, order: 'asc', limit });
  return {
    items: await showRestored(ctx, response, page.items),
    nextCursor: page.hasMore
      ? encodeCursor(ctx.secrets, scope, { createdAt: '', id: String(page.last) })
      : null,
  };
}
