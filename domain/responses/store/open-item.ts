import type { FileCitation, OutputItem, OutputMessage } from '#domain/responses/record/output-items.ts';

/** An unfinished message as readers of the stream have it. */
export interface OpenMessage {
  item: OutputMessage;
  outputIndex: number;
  text: string;
  annotations: FileCitation[];
  partOpen: boolean;
}

/** The items that a turn's events have closed (superseded messages, reasoning) and the message still open. */
export interface FoldedTurn {
  closed: { outputIndex: number; item: OutputItem }[];
  open: OpenMessage | null;
}

interface FoldedEvent {
  type: string;
  output_index?: number;
  item?: OutputItem;
  delta?: string;
  annotation?: FileCitation;
}

/** Folds a turn's stored events, one JSON document per line. */
export function foldTurn(lines: Iterable<string>): FoldedTurn {
  const folded: FoldedTurn = { closed: [], open: null };
  for (const line of lines) {
    fold(folded, JSON.parse(line) as FoldedEvent);
  }
  return folded;
}

function fold(folded: FoldedTurn, event: FoldedEvent): void {
  const { open } = folded;
  const mine = open !== null && event.output_index === open.outputIndex;
  switch (event.type) {
    case 'response.output_item.added':
      if (event.item?.type === 'message') {
        const outputIndex = event.output_index ?? 0;
        folded.open = { item: event.item, outputIndex, text: '', annotations: [], partOpen: false };
      }
      break;
    case 'response.content_part.added':
      if (mine) {
        open.partOpen = true;
      }
      break;
    case 'response.output_text.delta':
      if (mine) {
        open.text += event.delta ?? '';
      }
      break;
    case 'response.output_text.annotation.added':
      if (mine && event.annotation !== undefined) {
        open.annotations.push(event.annotation);
      }
      break;
    case 'response.output_item.done':
      if (event.item !== undefined) {
        folded.closed.push({ outputIndex: event.output_index ?? 0, item: event.item });
      }
      if (mine) {
        folded.open = null;
      }
      break;
    default:
  }
}

/** The text published from sequence number `firstN` on: the output of one attempt. */
export function textSince(lines: Iterable<string>, firstN: number): string {
  let text = '';
  for (const line of lines) {
    const event = JSON.parse(line) as FoldedEvent & { sequence_number: number };
    if (event.type === 'response.output_text.delta' && event.sequence_number >= firstN) {
      text += event.delta ?? '';
    }
  }
  return text;
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
