import {
  callItem,
  closing,
  opening,
  type CallEnd,
  type CallPlace,
} from '#domain/responses/store/call-items.ts';
import { callId, itemId, toolCallKey } from '#domain/responses/record/item-ids.ts';
import { askApproval, returnCall } from './outstanding-calls.ts';
import type { ToolExchange } from '#domain/responses/record/output-items.ts';
import type { Planning, RequestedCall } from '#domain/responses/store/requested-call.ts';
import type { OfferedMcpTool, OfferedSearch } from '#domain/responses/record/response-request.ts';
import type { StreamEvent } from '#domain/responses/record/stream-events.ts';
import type { ClaimedTurn } from '#domain/responses/prompt/turn-claim.ts';
import type { TurnKey } from '#domain/responses/record/turn-key.ts';
import type { PlannedCall } from '#domain/responses/record/turn-result.ts';

export type CallPlan =
  | { kind: 'none' }
  /** Server calls to run, then another turn, or the end if a call waits for the caller. */
  | { kind: 'run'; calls: PlannedCall[]; events: StreamEvent[] }
  /** No call runs here: all are returned to the caller. */
  | { kind: 'returned'; events: StreamEvent[] }
  | { kind: 'too_many'; events: StreamEvent[] };

/** Writes a turn's calls into the ledger as planned and opens their items, in model order. */
export function planCalls(planning: Planning, turn: ClaimedTurn, requested: RequestedCall[]): CallPlan {
  const { response } = planning.change;
  if (requested.length === 0) {
    return { kind: 'none' };
  }
  if (turn.settings.tool_mode === 'manual') {
    return { kind: 'returned', events: requested.flatMap((call) => returnCall(planning, call)) };
  }
  if (response.toolCallCount + requested.length > response.governance.limits.max_tool_calls) {
    return { kind: 'too_many', events: [] };
  }
  const calls: PlannedCall[] = [];
  let outstanding = 0;
  let lastLabel = Math.max(0, ...turn.composer.citations.keys());
  const events: StreamEvent[] = [];
  requested.forEach((call, callIndex) => {
    const offer = turn.settings.tools.find((tool) => tool.name === call.name);
    const { tool_choice: choice, allowed_tools: named } = turn.settings;
    const allowed = choice !== 'none' && (named?.includes(call.name) ?? true);
    if (offer === undefined || !allowed) {
      events.push(...rejectCall(planning, call));
    } else if (offer.type === 'tool_search') {
      events.push(...saveSearch(planning, call));
    } else if (offer.type === 'function') {
      outstanding += 1;
      events.push(...returnCall(planning, call));
    } else if (offer.type === 'mcp' && offer.require_approval) {
      outstanding += 1;
      events.push(...askApproval(planning, call, offer));
    } else {
      const target = targetOf(offer);
      events.push(
        ...planCall(planning, { ...turn, callIndex }, { ...call, ...target, firstLabel: lastLabel }),
      );
      lastLabel += offer.type === 'mcp' ? 0 : offer.max_num_results;
      calls.push({
        index: callIndex,
        summary: `tool ${call.name}`,
        retryClass: offer.type === 'mcp' ? 'once' : 'repeatable',
      });
    }
  });
  return calls.length === 0 && outstanding > 0
    ? { kind: 'returned', events }
    : { kind: 'run', calls, events };
}

function targetOf(offer: OfferedMcpTool | OfferedSearch): {
  serverLabel: string | null;
  toolName: string | null;
  schemaHash: string | null;
} {
  return offer.type === 'mcp'
    ? { serverLabel: offer.server_label, toolName: offer.tool, schemaHash: offer.schema_hash }
    : { serverLabel: null, toolName: null, schemaHash: null };
}

export interface NewCall extends RequestedCall {
  serverLabel: string | null;
  toolName: string | null;
  /** Of the definition that the model was offered. */
  schemaHash: string | null;
  firstLabel: number;
  /** The call's id if another turn's model requested it. */
  callId?: string;
  approvalRequestId?: string;
}

/** Adds one planned row to the ledger, and returns the events that open its item. */
export function planCall(
  { change, secrets }: Planning,
  key: TurnKey & { callIndex: number },
  call: NewCall,
): StreamEvent[] {
  const { response } = change;
  const outputIndex = response.nextOutputIndex++;
  const place = {
    itemId: itemId(secrets, call.serverLabel === null ? 'fs' : 'mcp', response.id, outputIndex),
    outputIndex,
    tool: call.name,
    serverLabel: call.serverLabel,
    toolName: call.toolName,
    approvalRequestId: call.approvalRequestId ?? null,
    arguments: call.arguments,
  };
  change.calls.push({
    iteration: key.iteration,
    callIndex: key.callIndex,
    callId: call.callId ?? callId(secrets, response.id, outputIndex),
    ...place,
    schemaHash: call.schemaHash,
    idempotencyKey: toolCallKey(secrets, key),
    firstLabel: call.firstLabel,
    providerState: call.providerState ?? null,
  });
  response.toolCallCount += 1;
  return opening(place);
}

/** The model called a tool that it was not offered: the call fails, its result says so, the loop continues. */
function rejectCall(planning: Planning, call: RequestedCall): StreamEvent[] {
  const message = 'This tool was not offered.';
  const error = { type: 'mcp_protocol_error' as const, code: -32_602, message };
  return completeImmediately(planning, call, {
    end: { status: 'failed', error },
    exchange: { result: message },
  });
}

/** A tool search has finished before its turn is committed. */
function saveSearch(planning: Planning, call: RequestedCall): StreamEvent[] {
  const { result, offers } = call.found ?? { result: '{"tools":[]}', offers: [] };
  const end = { status: 'completed' as const, output: result, results: null };
  return completeImmediately(planning, call, { end, exchange: { result, offers } });
}

/** Settles a call together with its turn: no server was called, so the ledger needs no row. */
function completeImmediately(
  { change, secrets }: Planning,
  call: RequestedCall,
  { end, exchange }: { end: CallEnd; exchange: Pick<ToolExchange, 'result' | 'offers'> },
): StreamEvent[] {
  const { response } = change;
  const outputIndex = response.nextOutputIndex++;
  const place: CallPlace = {
    itemId: itemId(secrets, 'mcp', response.id, outputIndex),
    outputIndex,
    tool: call.name,
    serverLabel: 'platform',
    arguments: call.arguments,
  };
  const item = callItem(place, end);
  response.toolCallCount += 1;
  change.addItem({
    outputIndex,
    item,
    exchange: {
      call_id: callId(secrets, response.id, outputIndex),
      name: call.name,
      arguments: call.arguments,
      ...exchange,
    },
    providerState: call.providerState ?? null,
  });
  return [...opening(place), ...closing(place, item)];
}
