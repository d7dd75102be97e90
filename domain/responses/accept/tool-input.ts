import type { EntityManager } from '@mikro-orm/postgresql';
import type { Context } from '#domain/foundation/access/context.ts';
import { DomainError, invalid } from '#domain/foundation/kernel/errors.ts';
import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import type { CreateResponseInput, ToolInputItem } from '#domain/responses/record/create-input.ts';
import { truncateResult } from '#domain/responses/store/truncate-result.ts';
import { itemId } from '#domain/responses/record/item-ids.ts';
import { Item } from '#domain/responses/record/item.entity.ts';
import type {
  FunctionCall,
  FunctionCallOutput,
  McpApprovalResponse,
  ToolExchange,
} from '#domain/responses/record/output-items.ts';
import type { ApprovedCall } from '#domain/responses/record/response-request.ts';
import type { ResponseChange } from '#domain/responses/store/response-change.ts';
import type { Response } from '#domain/responses/record/response.entity.ts';

/** Stores an item of the input that belongs to a call. @returns its id */
export async function saveToolItem(
  ctx: Context,
  change: ResponseChange,
  given: { item: ToolInputItem; index: number },
): Promise<string> {
  const { wire, exchange } = await toStored(ctx, change.response, given);
  change.addInput(wire, exchange);
  return wire.id;
}

interface Stored {
  wire: FunctionCall | FunctionCallOutput | McpApprovalResponse;
  exchange: ToolExchange | null;
}

async function toStored(
  ctx: Context,
  response: Response,
  { item, index }: { item: ToolInputItem; index: number },
): Promise<Stored> {
  const idOf = (prefix: 'fc' | 'fco' | 'mcpa') => itemId(ctx.secrets, prefix, response.id, `in${index}`);
  const status = 'completed';
  switch (item.type) {
    case 'function_call': {
      const call = { call_id: item.callId, name: item.name, arguments: cleanText(item.arguments) };
      return {
        wire: { id: idOf('fc'), type: item.type, status, ...call },
        exchange: { ...call, result: null },
      };
    }
    case 'function_call_output': {
      const output = truncateResult(cleanText(item.output));
      return {
        wire: { id: idOf('fco'), type: item.type, status, call_id: item.callId, output },
        exchange: { call_id: item.callId, name: '', arguments: '', result: output },
      };
    }
    case 'mcp_approval_response': {
      const { approvalRequestId, approve } = item;
      const reason = item.reason === null ? null : cleanText(item.reason);
      const wire = {
        id: idOf('mcpa'),
        type: item.type,
        status,
        approval_request_id: approvalRequestId,
        approve,
        reason,
      } as const;
      return { wire, exchange: approve ? null : await refused(ctx, response, { approvalRequestId, reason }) };
    }
  }
}

/** The result of a call that was not approved. */
async function refused(
  ctx: Context,
  response: Response,
  answer: { approvalRequestId: string; reason: string | null },
): Promise<ToolExchange | null> {
  const request = await ctx.em.findOne(Item, { id: answer.approvalRequestId, answeredBy: response.id });
  const why = answer.reason === null ? '' : ` Reason: ${answer.reason}`;
  return request?.exchange == null
    ? null
    : { ...request.exchange, result: `This call was not approved and was not made.${why}` };
}

/**
 * Accepts the answers to approval requests of the conversation that the input continues. A request is answered once,
 * even if the response with the answer fails.
 * @returns the approved calls, exactly as the model requested them
 * @throws `invalid_request` for an unknown request, `invalid_state` for an answered one
 */
export async function answerApprovals(
  ctx: Context,
  input: CreateResponseInput,
  responseId: string,
): Promise<ApprovedCall[]> {
  const approved: ApprovedCall[] = [];
  for (const item of input.input) {
    if (item.type !== 'mcp_approval_response') {
      continue;
    }
    const request = await findRequest(ctx.em, input, item.approvalRequestId);
    const taken = await ctx.em.execute(
      'update items set answered_by = ? where id = ? and answered_by is null returning id',
      [responseId, item.approvalRequestId],
    );
    if (taken.length === 0) {
      throw new DomainError('invalid_state', 'This approval request was answered before.', {
        param: 'input',
      });
    }
    if (item.approve) {
      approved.push(request);
    }
  }
  return approved;
}

async function findRequest(
  em: EntityManager,
  input: CreateResponseInput,
  approvalRequestId: string,
): Promise<ApprovedCall> {
  const [row] = await em.execute<{ wire: string; exchange: ToolExchange }[]>(
    `select i.wire, i.exchange from items i
       where i.id = ? and i.type = 'mcp_approval_request'
         and exists (select from responses r
           where r.tenant_id = i.tenant_id and r.id = ? and r.space_id = ? and r.expires_at > now())
         and (i.response_id = ? or exists (select from response_context c
           where c.tenant_id = i.tenant_id and c.response_id = ? and c.item_id = i.id))`,
    [
      approvalRequestId,
      input.previousResponseId,
      input.spaceId,
      input.previousResponseId,
      input.previousResponseId,
    ],
  );
  if (row === undefined) {
    throw invalid('input', 'An mcp_approval_response names an unknown approval request.');
  }
  const asked = JSON.parse(row.wire) as { server_label: string; name: string };
  return {
    approval_request_id: approvalRequestId,
    call_id: row.exchange.call_id,
    name: row.exchange.name,
    server_label: asked.server_label,
    tool: asked.name,
    schema_hash: row.exchange.schema_hash ?? '',
    arguments: row.exchange.arguments,
  };
}

/**
 * Checks that every call of the caller's own tools has its output, and every output its call.
 * @throws `tool_output_missing` naming the call ids, `invalid_request`
 */
export async function checkCallOutputs(em: EntityManager, responseId: string): Promise<void> {
  const rows = await em.execute<{ call_id: string; type: string }[]>(
    `select i.exchange ->> 'call_id' as call_id, i.type
       from response_context c join items i on i.tenant_id = c.tenant_id and i.id = c.item_id
       where c.response_id = ? and i.type in ('function_call', 'function_call_output') order by c.position`,
    [responseId],
  );
  const open = new Set<string>();
  for (const { call_id: callId, type } of rows) {
    if (type === 'function_call') {
      open.add(callId);
    } else if (!open.delete(callId)) {
      throw invalid('input', 'A function_call_output names no call that waits for one.');
    }
  }
  if (open.size > 0) {
    throw new DomainError('tool_output_missing', 'The conversation waits for the output of its calls.', {
      param: 'input',
      callIds: [...open],
    });
  }
}
