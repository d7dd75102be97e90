import type { EntityManager } from '@mikro-orm/postgresql';
import { sha256 } from '#domain/kernel/canonical-json.ts';
import { reach } from '#domain/kernel/failpoint.ts';
import { keepItem, queriesOf } from './item-store.ts';
import { lockHead, publish } from './head.ts';
import type { FileSearchCall, SearchResult } from './output-items.ts';
import type { CallKey } from './claim-call.ts';
import { ToolCall } from './tool-call.entity.ts';

export interface CallOutcome {
  outcome: 'succeeded' | 'failed' | 'denied';
  /** What the model is told. */
  result: string;
  /** Shown in the item when the caller asked for results. */
  results: SearchResult[] | null;
}

/**
 * Settles a call once. If the response has ended meanwhile only the ledger learns of it: readers have had
 * their terminal event.
 */
export async function commitCall(em: EntityManager, key: CallKey, outcome: CallOutcome): Promise<void> {
  const head = await lockHead(em, key.responseId);
  const row = await em.findOne(ToolCall, {
    responseId: key.responseId,
    iteration: key.iteration,
    callIndex: key.callIndex,
  });
  if (head === null || row === null || row.status === 'done') {
    return;
  }
  const { response, now } = head;
  row.status = 'done';
  row.outcome = outcome.outcome;
  row.resultDigest = sha256(outcome.result);
  row.doneAt = now;
  if (response.isTerminal) {
    return;
  }
  const item: FileSearchCall = {
    id: row.itemId,
    type: 'file_search_call',
    status: outcome.outcome === 'succeeded' ? 'completed' : 'failed',
    queries: queriesOf(row.arguments),
    results: outcome.results,
  };
  keepItem(em, response, {
    outputIndex: row.outputIndex,
    item,
    providerState: row.providerState ?? null,
    exchange: { call_id: row.callId, name: row.tool, arguments: row.arguments, result: outcome.result },
  });
  await publish(em, response, [
    ...(item.status === 'completed'
      ? [
          {
            type: 'response.file_search_call.completed' as const,
            item_id: item.id,
            output_index: row.outputIndex,
          },
        ]
      : []),
    { type: 'response.output_item.done', output_index: row.outputIndex, item },
  ]);
  reach('call.before_commit');
}
