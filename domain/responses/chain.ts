import type { Context } from '#domain/access/context.ts';
import { DomainError, invalid, notFound } from '#domain/kernel/errors.ts';
import { estimateTokenCount } from 'tokenx';
import { cancelRunning } from './cancel-response.ts';
import type { CreateResponseInput, InputItem } from './create-input.ts';
import { lockHead } from './head.ts';
import { itemId } from './item-ids.ts';
import { Item } from './item.entity.ts';
import type { InputMessage } from './output-items.ts';
import { authorizeResponse } from './response-access.ts';
import type { Response } from './response.entity.ts';
import { storable } from './continuation.ts';

const maxChainDepth = 200;

/**
 * Snapshots what a response is given: its parent's context and output as references, then its own input. The
 * parent may expire or be deleted afterwards; the child keeps what it was given.
 */
export async function snapshotContext(
  ctx: Context,
  input: CreateResponseInput,
  { response, contextWindow }: { response: Response; contextWindow: number },
): Promise<void> {
  if (input.previousResponseId !== null) {
    const parent = await readParent(ctx, input, input.previousResponseId);
    response.chainDepth = parent.chainDepth + 1;
    if (response.chainDepth > maxChainDepth) {
      throw new DomainError('context_length_exceeded', `A chain holds at most ${maxChainDepth} responses.`, {
        param: 'previous_response_id',
      });
    }
    await copyContext(ctx, parent.id, response.id);
  }
  const [last] = await ctx.em.execute<{ next: number }[]>(
    'select coalesce(max(position) + 1, 0)::int as next from response_context where response_id = ?',
    [response.id],
  );
  let position = last?.next ?? 0;
  for (const item of input.input) {
    const id = await inputItem(ctx, response, item, position);
    await ctx.em.execute(
      'insert into response_context (tenant_id, response_id, position, item_id) values (?, ?, ?, ?)',
      [response.tenantId, response.id, position, id],
    );
    position += 1;
  }
  await refuseTooLong(ctx, response.id, contextWindow);
}

/** The parent, ended and readable by the caller. */
async function readParent(ctx: Context, input: CreateResponseInput, parentId: string): Promise<Response> {
  const head = await lockHead(ctx.em, parentId);
  if (head === null || head.response.spaceId !== input.spaceId) {
    throw notFound('previous_response_not_found');
  }
  const { response: parent, now } = head;
  authorizeResponse(ctx.caller, 'responses.read', parent.principalId);
  if (!parent.isTerminal) {
    if (input.onBusy === 'reject') {
      throw new DomainError('previous_response_in_progress', 'The previous response has not ended yet.', {
        param: 'previous_response_id',
      });
    }
    authorizeResponse(ctx.caller, 'responses.cancel', parent.principalId);
    await cancelRunning(ctx, parent, now);
    await ctx.em.flush();
  }
  return parent;
}

async function copyContext(ctx: Context, parentId: string, childId: string): Promise<void> {
  await ctx.em.execute(
    `insert into response_context (tenant_id, response_id, position, item_id)
     select tenant_id, ?, row_number() over (order by part, position) - 1, item_id from (
       select tenant_id, 0 as part, position, item_id from response_context where response_id = ?
       union all
       select tenant_id, 1, output_index, id from items
         where response_id = ? and output_index is not null and superseded_by is null) as given`,
    [childId, parentId, parentId],
  );
}

async function inputItem(
  ctx: Context,
  response: Response,
  item: InputItem,
  position: number,
): Promise<string> {
  if (item.type === 'item_reference') {
    return referenced(ctx, response, item.id);
  }
  const id = itemId(ctx.secrets, 'msg', response.id, `in${position}`);
  const type = item.role === 'assistant' ? 'output_text' : 'input_text';
  const wire: InputMessage = {
    id,
    type: 'message',
    status: 'completed',
    role: item.role,
    content: [{ type, text: storable(item.text) }],
  };
  ctx.em.create(Item, {
    tenantId: response.tenantId,
    id,
    responseId: response.id,
    type: 'message',
    wire: JSON.stringify(wire),
  });
  await ctx.em.flush();
  return id;
}

/** An item of a response of the same space that the caller may read. Any other id is unknown. */
async function referenced(ctx: Context, response: Response, id: string): Promise<string> {
  const [row] = await ctx.em.execute<{ principal_id: string }[]>(
    `select r.principal_id from items i join responses r on r.tenant_id = i.tenant_id and r.id = i.response_id
       where i.id = ? and r.space_id = ?`,
    [id, response.spaceId],
  );
  if (
    row === undefined ||
    (row.principal_id !== ctx.caller.principalId && !ctx.caller.granted.has('responses.read'))
  ) {
    throw invalid('input', 'An item_reference names an unknown item.');
  }
  return id;
}

async function refuseTooLong(ctx: Context, responseId: string, contextWindow: number): Promise<void> {
  const rows = await ctx.em.execute<{ wire: string }[]>(
    `select i.wire from response_context c join items i on i.tenant_id = c.tenant_id and i.id = c.item_id
       where c.response_id = ?`,
    [responseId],
  );
  const tokens = rows.reduce((sum, row) => sum + estimateTokenCount(row.wire), 0);
  if (tokens > contextWindow) {
    throw new DomainError('context_length_exceeded', "The conversation exceeds the model's context.", {
      param: 'input',
    });
  }
}
