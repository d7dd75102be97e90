import type { FileCitation, OutputItem, OutputText, SummaryText } from './output-items.ts';
import type { ResponseRecord } from './response-record.ts';

/** A stream event before it has its sequence number. */
export type StreamEvent =
  | { type: LifecycleType; response: ResponseRecord }
  | {
      type: 'response.output_item.added' | 'response.output_item.done';
      output_index: number;
      item: OutputItem;
    }
  | {
      type: 'response.content_part.added' | 'response.content_part.done';
      item_id: string;
      output_index: number;
      content_index: number;
      part: OutputText;
    }
  | TextDelta
  | {
      type: 'response.output_text.done';
      item_id: string;
      output_index: number;
      content_index: number;
      text: string;
      logprobs: [];
    }
  | {
      type: 'response.output_text.annotation.added';
      item_id: string;
      output_index: number;
      content_index: number;
      annotation_index: number;
      annotation: FileCitation;
      /** How often each redaction token occurs before it, if some readers are shown the values instead. */
      tokens_before?: Record<string, number>;
    }
  | {
      type: 'response.reasoning_summary_part.added' | 'response.reasoning_summary_part.done';
      item_id: string;
      output_index: number;
      summary_index: number;
      part: SummaryText;
    }
  | {
      type: 'response.reasoning_summary_text.delta';
      item_id: string;
      output_index: number;
      summary_index: number;
      delta: string;
    }
  | {
      type: 'response.reasoning_summary_text.done';
      item_id: string;
      output_index: number;
      summary_index: number;
      text: string;
    }
  | {
      type: 'response.function_call_arguments.delta' | 'response.mcp_call_arguments.delta';
      item_id: string;
      output_index: number;
      delta: string;
    }
  | {
      type: 'response.function_call_arguments.done' | 'response.mcp_call_arguments.done';
      item_id: string;
      output_index: number;
      arguments: string;
    }
  | {
      type:
        | 'response.file_search_call.in_progress'
        | 'response.file_search_call.searching'
        | 'response.file_search_call.completed'
        | 'response.mcp_call.in_progress'
        | 'response.mcp_call.completed'
        | 'response.mcp_call.failed'
        | 'response.mcp_list_tools.in_progress'
        | 'response.mcp_list_tools.completed';
      item_id: string;
      output_index: number;
    }
  | { type: 'platform.continued'; iteration: number; continuation: string; prefix_length: number };

export interface TextDelta {
  type: 'response.output_text.delta';
  item_id: string;
  output_index: number;
  content_index: number;
  delta: string;
  logprobs: [];
}

export type TerminalType =
  | 'response.completed'
  | 'response.incomplete'
  | 'response.failed'
  | 'response.cancelled';
type LifecycleType = 'response.created' | 'response.queued' | 'response.in_progress' | TerminalType;

/** A run of events as it is stored: one JSON document per line, numbered from `firstN`. */
export interface EventRun {
  firstN: number;
  n: number;
  events: string;
}

/** Merges neighbouring deltas of one part and numbers the rest. Text is canonical: replays are byte-equal. */
export function toRun(events: readonly StreamEvent[], firstN: number): EventRun {
  const merged: StreamEvent[] = [];
  for (const event of events) {
    const last = merged.at(-1);
    if (
      event.type === 'response.output_text.delta' &&
      last?.type === event.type &&
      last.item_id === event.item_id
    ) {
      merged[merged.length - 1] = { ...last, delta: last.delta + event.delta };
    } else {
      merged.push(event);
    }
  }
  const lines = merged.map(({ type, ...payload }, i) =>
    JSON.stringify({ type, sequence_number: firstN + i, ...payload }),
  );
  return { firstN, n: lines.length, events: lines.join('\n') };
}

const head = /^\{"type":"([a-z_.]+)","sequence_number":(\d+)/;

/** Type and number of a stored event line, without parsing the rest. */
export function eventHead(line: string): { type: string; n: number } {
  const match = head.exec(line);
  if (match === null) {
    throw new Error('A stored stream event has no head.');
  }
  return { type: match[1] ?? '', n: Number(match[2]) };
}

export function isTerminalType(type: string): type is TerminalType {
  return (
    type === 'response.completed' ||
    type === 'response.incomplete' ||
    type === 'response.failed' ||
    type === 'response.cancelled'
  );
}
