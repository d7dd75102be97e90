/** Items as they stand on the wire and in the store (responses of the native surface). */

export interface FileCitation {
  type: 'file_citation';
  file_id: string;
  filename: string;
  /** The file's place in the response's list of files. */
  index: number;
  /** UTF-16 offsets of the mark in the part's text. */
  start_index: number;
  end_index: number;
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

export interface SearchResult {
  file_id: string;
  filename: string;
  score: number;
  text: string;
  attributes: Record<string, string>;
}

export interface FileSearchCall {
  id: string;
  type: 'file_search_call';
  status: 'in_progress' | 'completed' | 'failed' | 'incomplete';
  queries: string[];
  results: SearchResult[] | null;
}

/** `tool_mode: manual`: a call that the caller runs. */
export interface FunctionCall {
  id: string;
  type: 'function_call';
  status: 'completed';
  call_id: string;
  name: string;
  arguments: string;
}

/** A server-side call that could not be a search: so far only a tool that was never offered. */
export interface McpCall {
  id: string;
  type: 'mcp_call';
  status: 'failed';
  server_label: string;
  name: string;
  arguments: string;
  output: null;
  error: { type: 'mcp_protocol_error'; code: number; message: string };
  approval_request_id: null;
}

export interface SummaryText {
  type: 'summary_text';
  text: string;
}

/** That the model reasoned, and what it lets people know of it. */
export interface ReasoningItem {
  id: string;
  type: 'reasoning';
  status: 'in_progress' | 'completed';
  summary: SummaryText[];
}

export type OutputItem = ReasoningItem | OutputMessage | FileSearchCall | FunctionCall | McpCall;

/** What the model asked of a tool and was told, kept beside the item so that chains can repeat it. */
export interface ToolExchange {
  call_id: string;
  name: string;
  arguments: string;
  /** null: never run. */
  result: string | null;
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

export type Item = OutputItem | InputMessage;
