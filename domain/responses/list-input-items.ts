import type { Context } from '#domain/access/context.ts';
import { showRestored } from '#domain/governance/show-restored.ts';
import { decodeCursor, encodeCursor, type Page } from '#domain/kernel/page.ts';
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
  const after = input.cursor === null ? -1 : Number(decodeCursor(ctx.secrets, scope, input.cursor).id);
  const rows = await ctx.em.execute<{ position: number; wire: string }[]>(
    `select c.position, i.wire from response_context c join items i on i.tenant_id = c.tenant_id and i.id = c.item_id
       where c.response_id = ? and c.position > ? order by c.position limit ?`,
    [response.id, after, input.limit + 1],
  );
  const shown = rows.slice(0, input.limit);
  const last = shown.at(-1);
  return {
    items: await showRestored(
      ctx,
      response,
      shown.map((row) => JSON.parse(row.wire) as Item),
    ),
    nextCursor:
      last === undefined || rows.length <= input.limit
        ? null
        : encodeCursor(ctx.secrets, scope, { createdAt: '', id: String(last.position) }),
  };
}
