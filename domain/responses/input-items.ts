import type { Context } from '#domain/access/context.ts';
import { invalid } from '#domain/kernel/errors.ts';
import { storable } from './continuation.ts';
import type { InputItem } from './create-input.ts';
import { itemId } from './item-ids.ts';
import { Item } from './item.entity.ts';
import type { InputMessage } from './output-items.ts';
import type { Response } from './response.entity.ts';

/** Stores a response's own input and puts it into its context from `position` on. */
export async function keepInput(
  ctx: Context,
  response: Response,
  input: { items: readonly InputItem[]; position: number },
): Promise<void> {
  const ids: string[] = [];
  for (const [index, item] of input.items.entries()) {
    ids.push(
      item.type === 'item_reference'
        ? await referenced(ctx, response, item.id)
        : keepMessage(ctx, response, { ...item, index }),
    );
  }
  await ctx.em.flush();
  await ctx.em.execute(
    `insert into response_context (tenant_id, response_id, position, item_id)
     select ?, ?, ? + given.place - 1, given.id from jsonb_array_elements_text(?::jsonb) with ordinality as given (id, place)`,
    [response.tenantId, response.id, input.position, JSON.stringify(ids)],
  );
}

function keepMessage(
  ctx: Context,
  response: Response,
  message: { role: InputMessage['role']; text: string; index: number },
): string {
  const id = itemId(ctx.secrets, 'msg', response.id, `in${message.index}`);
  const type = message.role === 'assistant' ? 'output_text' : 'input_text';
  const wire: InputMessage = {
    id,
    type: 'message',
    status: 'completed',
    role: message.role,
    content: [{ type, text: storable(message.text) }],
  };
  const { tenantId } = response;
  ctx.em.create(Item, { tenantId, id, responseId: response.id, type: 'message', wire: JSON.stringify(wire) });
  return id;
}

/**
 * An item of a response of the same space that the caller may read. Any other id is unknown. The lock keeps it from
 * being purged before it is in the context.
 */
async function referenced(ctx: Context, response: Response, id: string): Promise<string> {
  const [row] = await ctx.em.execute<{ principal_id: string }[]>(
    `select r.principal_id from items i join responses r on r.tenant_id = i.tenant_id and r.id = i.response_id
       where i.id = ? and r.space_id = ? for key share of i`,
    [id, response.spaceId],
  );
  const readable = row?.principal_id === ctx.caller.principalId || ctx.caller.granted.has('responses.read');
  if (row === undefined || !readable) {
    throw invalid('input', 'An item_reference names an unknown item.');
  }
  return id;
}
