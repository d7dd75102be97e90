import type { SearchResult } from '#domain/knowledge/search/knowledge-result.ts';
import type { ToolMedia } from '#domain/capabilities/tools/tool-server.ts';
import type { OfferedMcpTool } from './response-request.ts';

/** Items in their wire and stored form (responses of the native surface). */

export interface FileCitation {
  type: 'file_citation';
  file_id: string;
  filename: string;
  /** The file's place in the response's list of files. */
  index: number;
  /** UTF-16 offsets of the mark in the part's text. */
  start_index: number;
  end_index: number;
  /** Of the cited passage, where its format has pages. */
  page?: number;
  /** A place within the format, such as a sheet or a slide. */
  anchor?: string;
}

export interface OutputText {
  type: 'output_text';
  text: string;
  annotations: FileCitation[];
  logprobs: [];
}

export interface OutputMessage {
  id: string;
  type: 'message';
  status: 'in_progress' | 'completed' | 'incomplete';
  role: 'assistant';
  phase?: 'commentary' | 'final_answer';
  content: OutputText[];
  platform?: { superseded_by: string };
}

export interface FileSearchCall {
  id: string;
  type: 'file_search_call';
  status: 'in_progress' | 'completed' | 'failed' | 'incomplete';
  queries: string[];
  results: SearchResult[] | null;
}

/** A call that the caller runs: of its own function, or with `tool_mode: manual` of any tool. */
export interface FunctionCall {
  id: string;
  type: 'function_call';
  status: 'in_progress' | 'completed';
  call_id: string;
  name: string;
  arguments: string;
}

export type McpCallError =
  | { type: 'mcp_protocol_error' | 'http_error'; code: number; message: string }
  | {
      type: 'mcp_tool_execution_error';
      code:
        | 'tool_failed'
        | 'tool_outcome_unknown'
        | 'tool_withheld'
        | 'missing_permission'
        | 'authorization_required';
      message: string;
      content: { type: 'text'; text: string }[];
      /** With `authorization_required`: what a person does, in the form of a `url` elicitation. */
      elicitation?: { mode: 'url'; elicitation_id: string; url: string; message: string };
    };

/** A call that this platform makes at a tool server. */
export interface McpCall {
  id: string;
  type: 'mcp_call';
  status: 'in_progress' | 'completed' | 'incomplete' | 'failed';
  server_label: string;
  name: string;
  arguments: string;
  output: string | null;
  error: McpCallError | null;
  approval_request_id: string | null;
}

export interface SummaryText {
  type: 'summary_text';
  text: string;
}

/** The summary of a model's reasoning, as far as it may be shown. */
export interface ReasoningItem {
  id: string;
  type: 'reasoning';
  status: 'in_progress' | 'completed';
  summary: SummaryText[];
}

/** A call that waits for an approval; the next response's input answers it. */
export interface McpApprovalRequest {
  id: string;
  type: 'mcp_approval_request';
  status: 'in_progress' | 'completed';
  server_label: string;
  name: string;
  arguments: string;
}

/** The tools of a server that the caller named by `type: mcp`. */
export interface McpListTools {
  id: string;
  type: 'mcp_list_tools';
  status: 'in_progress' | 'completed';
  server_label: string;
  tools: { name: string; description: string; input_schema: Record<string, unknown> }[];
}

export type OutputItem =
  | ReasoningItem
  | OutputMessage
  | FileSearchCall
  | FunctionCall
  | McpCall
  | McpApprovalRequest
  | McpListTools;

/**
 * A tool call with its arguments and result as the model saw them, stored beside the item so that chains can repeat
 * it.
 */
export interface ToolExchange {
  call_id: string;
  name: string;
  arguments: string;
  /** null: never run. */
  result: string | null;
  /** Images and sounds of the result. */
  media?: ToolMedia[];
  /** Of a call that waits for approval: of the definition that the model was offered. */
  schema_hash?: string;
  /** Tools that a search found. */
  offers?: OfferedMcpTool[];
}

export interface InputMessage {
  id: string;
  type: 'message';
  status: 'completed';
  role: 'user' | 'assistant' | 'system' | 'developer';
  content: InputContent[];
}

export type InputContent =
  | { type: 'input_text' | 'output_text'; text: string }
  | { type: 'input_image'; image_url: string; detail: 'auto' | 'low' | 'high' }
  | { type: 'input_file'; filename: string; file_data: string };

/** The output of the caller's own tool. */
export interface FunctionCallOutput {
  id: string;
  type: 'function_call_output';
  status: 'completed';
  call_id: string;
  output: string;
}

export interface McpApprovalResponse {
  id: string;
  type: 'mcp_approval_response';
  status: 'completed';
  approval_request_id: string;
  approve: boolean;
  reason: string | null;
}

export type Item = OutputItem | InputMessage | FunctionCallOutput | McpApprovalResponse;
