export type Json = Record<string, unknown>;

/** The ten invariants of a stream, and `frame` for bytes that are not in the form of a frame at all. */
export type Invariant = 'O1' | 'O2' | 'O3' | 'O4' | 'O5' | 'O6' | 'O7' | 'O8' | 'O9' | 'O10' | 'frame';

export interface Violation {
  invariant: Invariant;
  message: string;
  /** The sequence number of the fault, null where there is none. */
  at: number | null;
}

export type Report = (invariant: Invariant, message: string, at?: number | null) => void;

/** One stored event as the client first received it. */
export interface SeenEvent {
  n: number;
  type: string;
  data: Json;
  raw: string;
}

export const TERMINAL_TYPES: ReadonlySet<string> = new Set(
  ['completed', 'incomplete', 'failed', 'cancelled'].map((status) => `response.${status}`),
);

export const EVENT_TYPES: ReadonlySet<string> = new Set([
  ...['created', 'queued', 'in_progress'].map((name) => `response.${name}`),
  ...TERMINAL_TYPES,
  ...pairs('response.output_item', 'added', 'done'),
  ...pairs('response.content_part', 'added', 'done'),
  ...pairs('response.output_text', 'delta', 'done'),
  'response.output_text.annotation.added',
  ...pairs('response.refusal', 'delta', 'done'),
  ...pairs('response.reasoning_summary_part', 'added', 'done'),
  ...pairs('response.reasoning_summary_text', 'delta', 'done'),
  ...pairs('response.function_call_arguments', 'delta', 'done'),
  ...pairs('response.mcp_call', 'in_progress', 'completed', 'failed'),
  ...pairs('response.mcp_call_arguments', 'delta', 'done'),
  ...pairs('response.mcp_list_tools', 'in_progress', 'completed', 'failed'),
  ...pairs('response.file_search_call', 'in_progress', 'searching', 'completed'),
  'error',
]);

function pairs(subject: string, ...names: string[]): string[] {
  return names.map((name) => `${subject}.${name}`);
}

export function asObject(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

export function asList(value: unknown): Json[] {
  return Array.isArray(value) ? value.map(asObject) : [];
}

/** The id of the item that replaced this one, if it was abandoned. */
export function supersededBy(item: Json): string | null {
  const { superseded_by: id = null } = asObject(item['platform']);
  return typeof id === 'string' ? id : null;
}

/** The text of a content or summary part of any kind. */
export function partText(part: Json): unknown {
  return part['type'] === 'refusal' ? part['refusal'] : part['text'];
}
