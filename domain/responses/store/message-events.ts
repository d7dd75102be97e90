import type { OpenMessage } from './open-item.ts';
import type { OutputMessage, OutputText } from '#domain/responses/record/output-items.ts';
import type { StreamEvent } from '#domain/responses/record/stream-events.ts';

/** Opens a message and its one text part. */
export function openMessage(id: string, outputIndex: number): { open: OpenMessage; events: StreamEvent[] } {
  const item: OutputMessage = { id, type: 'message', status: 'in_progress', role: 'assistant', content: [] };
  const open: OpenMessage = { item, outputIndex, text: '', annotations: [], partOpen: false };
  return {
    open,
    events: [{ type: 'response.output_item.added', output_index: outputIndex, item }, ...openPart(open)],
  };
}

/** Opens the part of a message that has none yet. */
export function openPart(open: OpenMessage): StreamEvent[] {
  if (open.partOpen) {
    return [];
  }
  open.partOpen = true;
  const part: OutputText = { type: 'output_text', text: '', annotations: [], logprobs: [] };
  return [{ type: 'response.content_part.added', ...place(open), part }];
}

export interface Closing {
  status: 'completed' | 'incomplete';
  phase?: 'commentary' | 'final_answer';
  supersededBy?: string;
}

/** Closes a message with its text so far. */
export function closeMessage(
  open: OpenMessage,
  closing: Closing,
): { item: OutputMessage; events: StreamEvent[] } {
  const events: StreamEvent[] = [];
  const content: OutputText[] = [];
  if (open.partOpen) {
    const part: OutputText = {
      type: 'output_text',
      text: open.text,
      annotations: open.annotations,
      logprobs: [],
    };
    content.push(part);
    events.push(
      { type: 'response.output_text.done', ...place(open), text: open.text, logprobs: [] },
      { type: 'response.content_part.done', ...place(open), part },
    );
  }
  const item: OutputMessage = {
    ...open.item,
    status: closing.status,
    ...(closing.phase === undefined ? {} : { phase: closing.phase }),
    content,
    ...(closing.supersededBy === undefined ? {} : { platform: { superseded_by: closing.supersededBy } }),
  };
  events.push({ type: 'response.output_item.done', output_index: open.outputIndex, item });
  return { item, events };
}

export function place(open: OpenMessage): { item_id: string; output_index: number; content_index: 0 } {
  return { item_id: open.item.id, output_index: open.outputIndex, content_index: 0 };
}
