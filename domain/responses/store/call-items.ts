import { queriesOf } from './item-store.ts';
import type { FileSearchCall, McpCall, McpCallError } from '#domain/responses/record/output-items.ts';
import type { SearchResult } from '#domain/knowledge/search/knowledge-result.ts';
import type { StreamEvent } from '#domain/responses/record/stream-events.ts';

/** The columns of a ledger row that its item shows. */
export interface CallPlace {
  itemId: string;
  outputIndex: number;
  /** The name that models use. */
  tool: string;
  arguments: string;
  serverLabel?: string | null | undefined;
  toolName?: string | null | undefined;
  approvalRequestId?: string | null | undefined;
}

export type CallEnd =
  | { status: 'in_progress' | 'incomplete' }
  | { status: 'completed'; output: string; results: SearchResult[] | null }
  | { status: 'failed'; error: McpCallError };

/** A server-side call as an item. */
export function callItem(place: CallPlace, end: CallEnd): FileSearchCall | McpCall {
  if (place.serverLabel == null) {
    return {
      id: place.itemId,
      type: 'file_search_call',
      status: end.status,
      queries: queriesOf(place.arguments),
      results: end.status === 'completed' ? end.results : null,
    };
  }
  return {
    id: place.itemId,
    type: 'mcp_call',
    status: end.status,
    server_label: place.serverLabel,
    name: place.toolName ?? place.tool,
    arguments: place.arguments,
    output: end.status === 'completed' ? end.output : null,
    error: end.status === 'failed' ? end.error : null,
    approval_request_id: place.approvalRequestId ?? null,
  };
}

/** The events that open a call: its arguments are published as a whole, never in part. */
export function opening(place: CallPlace): StreamEvent[] {
  const item = callItem(place, { status: 'in_progress' });
  const at = { item_id: item.id, output_index: place.outputIndex };
  if (item.type === 'file_search_call') {
    return [
      { type: 'response.output_item.added', output_index: place.outputIndex, item },
      { type: 'response.file_search_call.in_progress', ...at },
    ];
  }
  return [
    {
      type: 'response.output_item.added',
      output_index: place.outputIndex,
      item: { ...item, arguments: '' },
    },
    { type: 'response.mcp_call.in_progress', ...at },
    { type: 'response.mcp_call_arguments.delta', ...at, delta: place.arguments },
    { type: 'response.mcp_call_arguments.done', ...at, arguments: place.arguments },
  ];
}

/** The events that close it, with the finished item. */
export function closing(place: CallPlace, item: FileSearchCall | McpCall): StreamEvent[] {
  const at = { item_id: item.id, output_index: place.outputIndex };
  const done: StreamEvent = { type: 'response.output_item.done', output_index: place.outputIndex, item };
  if (item.status === 'completed') {
    return [{ type: `response.${item.type}.completed`, ...at }, done];
  }
  return item.status === 'failed' && item.type === 'mcp_call'
    ? [{ type: 'response.mcp_call.failed', ...at }, done]
    : [done];
}

export function executionError(
  code: Extract<McpCallError, { type: 'mcp_tool_execution_error' }>['code'],
  message: string,
): McpCallError {
  return { type: 'mcp_tool_execution_error', code, message, content: [{ type: 'text', text: message }] };
}
