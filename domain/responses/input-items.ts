import type { Context } from '#domain/access/context.ts';
import { invalid } from '#domain/kernel/errors.ts';
import { cleanText } from '#domain/kernel/clean-text.ts';
import type { InputItem } from './create-input.ts';
import { itemId } from './item-ids.ts';
import { Item } from './item.entity.ts';
import type { InputContent, InputMessage, ReasoningItem } from './output-items.ts';
import type { Response } from './response.entity.ts';
import { keepToolItem } from './tool-input.ts';

/** Stores a response's own input and puts it into its context from `position` on. */
export async function keepInput(
  ctx: Context,
  response: Response,
  input: { items: readonly InputItem[]; position: number },
): Promise<void> {
  const ids: string[] = [];
  for (const [index, item] of input.items.entries()) {
    ids.push(await keepItem(ctx, response, { item, index }));
  }
  await ctx.em.flush();
  await ctx.em.execute(
    `insert into response_context (tenant_id, response_id, position, item_id)
     select ?, ?, ? + given.place - 1, given.id from jsonb_array_elements_text(?::jsonb) with ordinality as given (id, place)`,
    [response.tenantId, response.id, input.position, JSON.stringify(ids)],
  );
}

async function keepItem(
  ctx: Context,
  response: Response,
  { item, index }: { item: InputItem; index: number },
): Promise<string> {
  switch (item.type) {
    case 'message':
      return keepMessage(ctx, response, { ...item, index });
    case 'item_reference':
      return referenced(ctx, response, item.id);
    case 'reasoning':
      return (
        (item.id === null ? null : await findReadable(ctx, response, item.id)) ??
        keepReasoning(ctx, response, { ...item, index })
      );
    default:
      return keepToolItem(ctx, response, { item, index });
  }
}

/** Reasoning that is not ours: shown among the input, but no provider takes it back. */
function keepReasoning(
  ctx: Context,
  response: Response,
  { summary, index }: { summary: ReasoningItem['summary']; index: number },
): string {
  const id = itemId(ctx.secrets, 'rs', response.id, `in${index}`);
  const wire: ReasoningItem = {
    id,
    type: 'reasoning',
    status: 'completed',
    summary: summary.map((part) => ({ ...part, text: cleanText(part.text) })),
  };
  const { tenantId } = response;
  ctx.em.create(Item, {
    tenantId,
    id,
    responseId: response.id,
    type: 'reasoning',
    wire: JSON.stringify(wire),
  });
  return id;
}

function storablePart(part: InputContent): InputContent {
  switch (part.type) {
    case 'input_text':
    case 'output_text':
      return { ...part, text: cleanText(part.text) };
    case 'input_file':
      return { ...part, filename: cleanText(part.filename) };
    case 'input_image':
      return part;
  }
}

function keepMessage(
  ctx: Context,
  response: Response,
  message: { role: InputMessage['role']; text: string; content?: InputContent[]; index: number },
): string {
  const id = itemId(ctx.secrets, 'msg', response.id, `in${message.index}`);
  const type = message.role === 'assistant' ? 'output_text' : 'input_text';
  const wire: InputMessage = {
    id,
    type: 'message',
    status: 'completed',
    role: message.role,
    content: message.content?.map(storablePart) ?? [{ type, text: cleanText(message.text) }],
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
  const found = await findReadable(ctx, response, id);
  if (found === null) {
    throw invalid('input', 'An item_reference names an unknown item.');
  }
  return found;
}

async function findReadable(ctx: Context, response: Response, id: string): Promise<string | null> {
  const [row] = await ctx.em.execute<{ principal_id: string }[]>(
    `select r.principal_id from items i join responses r on r.tenant_id = i.tenant_id and r.id = i.response_id
       where i.id = ? and r.space_id = ? for key share of i`,
    [id, response.spaceId],
  );
  const readable = row?.principal_id === ctx.caller.principalId || ctx.caller.granted.has('responses.read');
  return row === undefined || !readable ? null : id;
}
