import type { FileCitation, OutputItem, OutputMessage } from './output-items.ts';

/** A message that was begun and not finished: what readers of the stream have of it. */
export interface OpenMessage {
  item: OutputMessage;
  outputIndex: number;
  text: string;
  annotations: FileCitation[];
  partOpen: boolean;
}

interface FoldedEvent {
  type: string;
  output_index?: number;
  item?: OutputItem;
  delta?: string;
  annotation?: FileCitation;
}

/** Folds stored events (one JSON document a line) to the message that is still open after them, if any. */
export function foldOpenMessage(lines: Iterable<string>): OpenMessage | null {
  let open: OpenMessage | null = null;
  for (const line of lines) {
    const event = JSON.parse(line) as FoldedEvent;
    if (event.type === 'response.output_item.added' && event.item?.type === 'message') {
      open = {
        item: event.item,
        outputIndex: event.output_index ?? 0,
        text: '',
        annotations: [],
        partOpen: false,
      };
    } else if (open !== null && event.output_index === open.outputIndex) {
      advance(open, event);
      if (event.type === 'response.output_item.done') {
        open = null;
      }
    }
  }
  return open;
}

function advance(open: OpenMessage, event: FoldedEvent): void {
  switch (event.type) {
    case 'response.content_part.added':
      open.partOpen = true;
      break;
    case 'response.output_text.delta':
      open.text += event.delta ?? '';
      break;
    case 'response.output_text.annotation.added':
      if (event.annotation !== undefined) {
        open.annotations.push(event.annotation);
      }
      break;
    default:
  }
}

/** The open message as an item with the text so far. */
export function toItem(open: OpenMessage, status: OutputMessage['status']): OutputMessage {
  return {
    ...open.item,
    status,
    content: open.partOpen
      ? [{ type: 'output_text', text: open.text, annotations: open.annotations, logprobs: [] }]
      : [],
  };
}
