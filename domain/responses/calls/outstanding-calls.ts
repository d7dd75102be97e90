import { callId, itemId } from '#domain/responses/record/item-ids.ts';
import type { FunctionCall, McpApprovalRequest } from '#domain/responses/record/output-items.ts';
import type { Planning, RequestedCall } from '#domain/responses/store/requested-call.ts';
import type { OfferedMcpTool } from '#domain/responses/record/response-request.ts';
import type { ResponseChange } from '#domain/responses/store/response-change.ts';
import type { StreamEvent } from '#domain/responses/record/stream-events.ts';

/** A call that the caller runs: its output arrives with the next response. */
export function returnCall({ change, secrets }: Planning, call: RequestedCall): StreamEvent[] {
  const { response } = change;
  const outputIndex = response.nextOutputIndex++;
  const item: FunctionCall = {
    id: itemId(secrets, 'fc', response.id, outputIndex),
    type: 'function_call',
    status: 'completed',
    call_id: callId(secrets, response.id, outputIndex),
    name: call.name,
    arguments: call.arguments,
  };
  saveCall(change, call, { outputIndex, item, callId: item.call_id });
  const place = { item_id: item.id, output_index: outputIndex };
  return [
    {
      type: 'response.output_item.added',
      output_index: outputIndex,
      item: { ...item, status: 'in_progress', arguments: '' },
    },
    { type: 'response.function_call_arguments.delta', ...place, delta: call.arguments },
    { type: 'response.function_call_arguments.done', ...place, arguments: call.arguments },
    { type: 'response.output_item.done', output_index: outputIndex, item },
  ];
}

/** A call that needs approval and does not run before it. */
export function askApproval(
  { change, secrets }: Planning,
  call: RequestedCall,
  offer: OfferedMcpTool,
): StreamEvent[] {
  const { response } = change;
  const outputIndex = response.nextOutputIndex++;
  const item: McpApprovalRequest = {
    id: itemId(secrets, 'mcpr', response.id, outputIndex),
    type: 'mcp_approval_request',
    status: 'completed',
    server_label: offer.server_label,
    name: offer.tool,
    arguments: call.arguments,
  };
  const { schema_hash: schemaHash } = offer;
  saveCall(change, call, {
    outputIndex,
    item,
    callId: callId(secrets, response.id, outputIndex),
    schemaHash,
  });
  return [
    {
      type: 'response.output_item.added',
      output_index: outputIndex,
      item: { ...item, status: 'in_progress' },
    },
    { type: 'response.output_item.done', output_index: outputIndex, item },
  ];
}

function saveCall(
  change: ResponseChange,
  call: RequestedCall,
  as: { outputIndex: number; item: FunctionCall | McpApprovalRequest; callId: string; schemaHash?: string },
): void {
  const { outputIndex, item, schemaHash } = as;
  const exchange = {
    call_id: as.callId,
    name: call.name,
    arguments: call.arguments,
    result: null,
    ...(schemaHash === undefined ? {} : { schema_hash: schemaHash }),
  };
  change.addItem({ outputIndex, item, exchange, providerState: call.providerState ?? null });
}

/** Whether a response's finished items hold calls that wait for their caller. */
export function waitsForCaller(items: readonly { type: string }[]): boolean {
  return items.some(({ type }) => type === 'function_call' || type === 'mcp_approval_request');
}
