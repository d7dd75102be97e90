import type { EntityManager } from '@mikro-orm/postgresql';
import type { Secrets } from '#domain/kernel/secrets.ts';
import { keepItem, queriesOf } from './item-store.ts';
import { callId, itemId, toolCallKey } from './item-ids.ts';
import type { FileSearchCall, FunctionCall, McpCall } from './output-items.ts';
import type { ProviderState } from './provider-state.ts';
import type { Response } from './response.entity.ts';
import type { StreamEvent } from './stream-events.ts';
import { ToolCall } from './tool-call.entity.ts';
import type { ClaimedTurn } from './turn-claim.ts';
import type { PlannedCall } from './turn-result.ts';

/** A call as the model asked for it. `arguments` is JSON text, not yet checked. */
export interface RequestedCall {
  name: string;
  arguments: string;
  /** What the provider wants back with it. */
  providerState?: ProviderState | null;
}

export type CallPlan =
  | { kind: 'none' }
  /** Server calls to run, then another turn. */
  | { kind: 'run'; calls: PlannedCall[]; events: StreamEvent[] }
  /** `tool_mode: manual`: every call goes back to the caller. */
  | { kind: 'returned'; events: StreamEvent[] }
  | { kind: 'too_many'; events: StreamEvent[] };

interface Planning {
  em: EntityManager;
  secrets: Secrets;
  response: Response;
}

/** Writes a turn's calls into the ledger as planned and opens their items, in model order. */
export function planCalls(
  { em, secrets, response }: Planning,
  turn: ClaimedTurn,
  requested: RequestedCall[],
): CallPlan {
  if (requested.length === 0) {
    return { kind: 'none' };
  }
  if (turn.settings.tool_mode === 'manual') {
    return { kind: 'returned', events: requested.flatMap((call) => returnCall(em, secrets, response, call)) };
  }
  if (response.toolCallCount + requested.length > response.governance.limits.max_tool_calls) {
    return { kind: 'too_many', events: [] };
  }
  const calls: PlannedCall[] = [];
  let lastLabel = Math.max(0, ...turn.composer.citations.keys());
  const events: StreamEvent[] = [];
  requested.forEach((call, callIndex) => {
    const offer = turn.settings.tools.find((tool) => tool.name === call.name);
    const allowed = turn.settings.allowed_tools?.includes(call.name) ?? true;
    if (offer === undefined || !allowed) {
      events.push(...refuseCall(em, secrets, response, call));
      return;
    }
    const outputIndex = response.nextOutputIndex++;
    const id = itemId(secrets, 'fs', response.id, outputIndex);
    em.create(ToolCall, {
      tenantId: response.tenantId,
      responseId: response.id,
      iteration: turn.iteration,
      callIndex,
      callId: callId(secrets, response.id, outputIndex),
      itemId: id,
      outputIndex,
      tool: call.name,
      arguments: call.arguments,
      idempotencyKey: toolCallKey(secrets, { ...turn, callIndex }),
      firstLabel: lastLabel,
      providerState: call.providerState ?? null,
    });
    lastLabel += offer.max_num_results;
    response.toolCallCount += 1;
    const item: FileSearchCall = {
      id,
      type: 'file_search_call',
      status: 'in_progress',
      queries: queriesOf(call.arguments),
      results: null,
    };
    events.push(
      { type: 'response.output_item.added', output_index: outputIndex, item },
      { type: 'response.file_search_call.in_progress', item_id: id, output_index: outputIndex },
    );
    calls.push({ index: callIndex, summary: `tool ${call.name}`, retryClass: 'repeatable' });
  });
  return { kind: 'run', calls, events };
}

function returnCall(
  em: EntityManager,
  secrets: Secrets,
  response: Response,
  call: RequestedCall,
): StreamEvent[] {
  const outputIndex = response.nextOutputIndex++;
  const item: FunctionCall = {
    id: itemId(secrets, 'fc', response.id, outputIndex),
    type: 'function_call',
    status: 'completed',
    call_id: callId(secrets, response.id, outputIndex),
    name: call.name,
    arguments: call.arguments,
  };
  const { name, arguments: text, providerState = null } = call;
  const exchange = { call_id: item.call_id, name, arguments: text, result: null };
  keepItem(em, response, { outputIndex, item, exchange, providerState });
  const place = { item_id: item.id, output_index: outputIndex };
  return [
    { type: 'response.output_item.added', output_index: outputIndex, item: { ...item, arguments: '' } },
    { type: 'response.function_call_arguments.delta', ...place, delta: call.arguments },
    { type: 'response.function_call_arguments.done', ...place, arguments: call.arguments },
    { type: 'response.output_item.done', output_index: outputIndex, item },
  ];
}

/** The model asked for a tool that it was not offered: the call fails, the model is told, the loop goes on. */
function refuseCall(
  em: EntityManager,
  secrets: Secrets,
  response: Response,
  call: RequestedCall,
): StreamEvent[] {
  const outputIndex = response.nextOutputIndex++;
  const item: McpCall = {
    id: itemId(secrets, 'mcp', response.id, outputIndex),
    type: 'mcp_call',
    status: 'failed',
    server_label: 'platform',
    name: call.name,
    arguments: call.arguments,
    output: null,
    error: { type: 'mcp_protocol_error', code: -32_602, message: 'This tool was not offered.' },
    approval_request_id: null,
  };
  response.toolCallCount += 1;
  const exchange = {
    call_id: callId(secrets, response.id, outputIndex),
    name: call.name,
    arguments: call.arguments,
    result: item.error.message,
  };
  keepItem(em, response, { outputIndex, item, exchange, providerState: call.providerState ?? null });
  return [
    { type: 'response.output_item.added', output_index: outputIndex, item },
    { type: 'response.output_item.done', output_index: outputIndex, item },
  ];
}
