import type { Context } from '#domain/foundation/access/context.ts';
import { invalid } from '#domain/foundation/kernel/errors.ts';
import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import type { InputItem } from '#domain/responses/record/create-input.ts';
import { itemId } from '#domain/responses/record/item-ids.ts';
import type { InputContent, InputMessage, ReasoningItem } from '#domain/responses/record/output-items.ts';
import type { ResponseChange } from '#domain/responses/store/response-change.ts';
import type { Response } from '#domain/responses/record/response.entity.ts';
import { saveToolItem } from './tool-input.ts';

/** Stores a response's own input and puts it into its context from `position` on. */
export async function saveInput(
  ctx: Context,
  change: ResponseChange,
  input: { items: readonly InputItem[]; position: number },
): Promise<void> {
  const ids: string[] = [];
  for (const [index, item] of input.items.entries()) {
    ids.push(await saveItem(ctx, change, { item, index }));
  }
  change.addContext(ids, input.position);
}

async function saveItem(
  ctx: Context,
  change: ResponseChange,
  { item, index }: { item: InputItem; index: number },
): Promise<string> {
  switch (item.type) {
    case 'message':
      return saveMessage(ctx, change, { ...item, index });
    case 'item_reference':
      return referenced(ctx, change.response, item.id);
    case 'reasoning':
      return (
        (item.id === null ? null : await findReadable(ctx, change.response, item.id)) ??
        saveReasoning(ctx, change, { ...item, index })
      );
    default:
      return saveToolItem(ctx, change, { item, index });
  }
}

/** Reasoning that this platform did not produce: listed among the input, but no provider accepts it. */
function saveReasoning(
  ctx: Context,
  change: ResponseChange,
  { summary, index }: { summary: ReasoningItem['summary']; index: number },
): string {
  const id = itemId(ctx.secrets, 'rs', change.response.id, `in${index}`);
  const wire: ReasoningItem = {
    id,
    type: 'reasoning',
    status: 'completed',
    summary: summary.map((part) => ({ ...part, text: cleanText(part.text) })),
  };
  change.addInput(wire);
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

function saveMessage(
  ctx: Context,
  change: ResponseChange,
  message: { role: InputMessage['role']; text: string; content?: InputContent[]; index: number },
): string {
  const id = itemId(ctx.secrets, 'msg', change.response.id, `in${message.index}`);
  const type = message.role === 'assistant' ? 'output_text' : 'input_text';
  const wire: InputMessage = {
    id,
    type: 'message',
    status: 'completed',
    role: message.role,
    content: message.content?.map(storablePart) ?? [{ type, text: cleanText(message.text) }],
  };
  change.addInput(wire);
  return id;
}

/**
 * An item of a response of the same space that the caller may read. Any other id is unknown. The lock prevents a
 * purge before it is in the context.
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
       where i.id = ? and r.space_id = ? and r.expires_at > now() for key share of i`,
    [id, response.spaceId],
  );
  const readable = row?.principal_id === ctx.caller.principalId || ctx.caller.granted.has('responses.read');
  return row === undefined || !readable ? null : id;
}
