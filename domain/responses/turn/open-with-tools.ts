import { itemId } from '#domain/responses/record/item-ids.ts';
import { planCall } from '#domain/responses/calls/plan-calls.ts';
import type { McpListTools } from '#domain/responses/record/output-items.ts';
import type { Planning } from '#domain/responses/store/requested-call.ts';
import type { StreamEvent } from '#domain/responses/record/stream-events.ts';
import type { TurnResult } from '#domain/responses/record/turn-result.ts';

/** One item for each server that the caller named by `type: mcp`: the tools of it that the model is offered. */
export function listTools({ change, secrets }: Planning): StreamEvent[] {
  const { response } = change;
  const { request } = response;
  return request.listed_servers.flatMap((label): StreamEvent[] => {
    const outputIndex = response.nextOutputIndex++;
    const item: McpListTools = {
      id: itemId(secrets, 'mcpl', response.id, outputIndex),
      type: 'mcp_list_tools',
      status: 'completed',
      server_label: label,
      tools: request.tools.flatMap((tool) =>
        tool.type === 'mcp' && tool.server_label === label
          ? [{ name: tool.tool, description: tool.description, input_schema: tool.parameters }]
          : [],
      ),
    };
    change.addItem({ outputIndex, item });
    const place = { item_id: item.id, output_index: outputIndex };
    return [
      {
        type: 'response.output_item.added',
        output_index: outputIndex,
        item: { ...item, status: 'in_progress', tools: [] },
      },
      { type: 'response.mcp_list_tools.in_progress', ...place },
      { type: 'response.mcp_list_tools.completed', ...place },
      { type: 'response.output_item.done', output_index: outputIndex, item },
    ];
  });
}

/** A turn without a model: the calls that the caller's input approves, before the model continues. */
export function planApproved(
  planning: Planning,
  iteration: number,
): { result: TurnResult; events: StreamEvent[] } {
  const { response } = planning.change;
  const { tenantId, id: responseId } = response;
  const approved = response.request.approved_calls;
  const events = approved.flatMap((call, callIndex) =>
    planCall(
      planning,
      { tenantId, responseId, iteration, callIndex },
      {
        name: call.name,
        arguments: call.arguments,
        serverLabel: call.server_label,
        toolName: call.tool,
        schemaHash: call.schema_hash,
        firstLabel: 0,
        callId: call.call_id,
        approvalRequestId: call.approval_request_id,
      },
    ),
  );
  const calls = approved.map(({ name }, index) => ({
    index,
    summary: `tool ${name}`,
    retryClass: 'once' as const,
  }));
  return { result: { next: 'tools', calls }, events };
}
