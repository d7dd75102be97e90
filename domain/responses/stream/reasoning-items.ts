import type { FinishedItem } from '#domain/responses/store/item-store.ts';
import type { ReasoningItem, SummaryText } from '#domain/responses/record/output-items.ts';
import type { ProviderState } from '#domain/responses/record/provider-state.ts';
import type { StreamEvent } from '#domain/responses/record/stream-events.ts';

/** One finished item of reasoning of a model call. */
export interface Reasoned {
  /** Shown to readers; empty unless a summary was requested. */
  summary: string[];
  providerState: ProviderState;
}

/** Finished reasoning as an item of the output, with all its events: it is never published in part. */
export function placeReasoning(
  { id, outputIndex }: { id: string; outputIndex: number },
  { summary, providerState }: Reasoned,
): { finished: FinishedItem; events: StreamEvent[] } {
  const item: ReasoningItem = {
    id,
    type: 'reasoning',
    status: 'completed',
    summary: summary.map((text) => ({ type: 'summary_text', text })),
  };
  return {
    finished: { outputIndex, item, providerState },
    events: [
      {
        type: 'response.output_item.added',
        output_index: outputIndex,
        item: { ...item, status: 'in_progress', summary: [] },
      },
      ...item.summary.flatMap((part, index) => summaryEvents(id, outputIndex, { part, index })),
      { type: 'response.output_item.done', output_index: outputIndex, item },
    ],
  };
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
