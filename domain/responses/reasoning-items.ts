import type { Secrets } from '#domain/kernel/secrets.ts';
import { itemId } from './item-ids.ts';
import type { FinishedItem } from './item-store.ts';
import type { ReasoningItem, SummaryText } from './output-items.ts';
import type { ProviderState } from './provider-state.ts';
import type { Response } from './response.entity.ts';
import type { StreamEvent } from './stream-events.ts';

/** One finished item of reasoning of a model call. */
export interface Reasoned {
  /** What it lets people know; empty unless a summary was asked for. */
  summary: string[];
  providerState: ProviderState;
}

/** Reasoning as items of the output. It is published when its call is committed, so never by halves. */
export function placeReasoning(
  secrets: Secrets,
  response: Response,
  reasoned: readonly Reasoned[],
): { items: FinishedItem[]; events: StreamEvent[] } {
  const items: FinishedItem[] = [];
  const events: StreamEvent[] = [];
  for (const { summary, providerState } of reasoned) {
    const outputIndex = response.nextOutputIndex++;
    const item: ReasoningItem = {
      id: itemId(secrets, 'rs', response.id, outputIndex),
      type: 'reasoning',
      status: 'completed',
      summary: summary.map((text) => ({ type: 'summary_text', text })),
    };
    items.push({ outputIndex, item, providerState });
    events.push(
      {
        type: 'response.output_item.added',
        output_index: outputIndex,
        item: { ...item, status: 'in_progress', summary: [] },
      },
      ...item.summary.flatMap((part, index) => summaryEvents(item.id, outputIndex, { part, index })),
      { type: 'response.output_item.done', output_index: outputIndex, item },
    );
  }
  return { items, events };
}

function summaryEvents(
  id: string,
  outputIndex: number,
  { part, index }: { part: SummaryText; index: number },
): StreamEvent[] {
  const place = { item_id: id, output_index: outputIndex, summary_index: index };
  return [
    { type: 'response.reasoning_summary_part.added', ...place, part: { ...part, text: '' } },
    { type: 'response.reasoning_summary_text.delta', ...place, delta: part.text },
    { type: 'response.reasoning_summary_text.done', ...place, text: part.text },
    { type: 'response.reasoning_summary_part.done', ...place, part },
  ];
}
