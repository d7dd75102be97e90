import type { EntityManager } from '@mikro-orm/postgresql';
import { sha256 } from '#domain/kernel/canonical-json.ts';
import { reach } from '#domain/kernel/failpoint.ts';
import { databaseNow } from '#domain/persistence/database-now.ts';
import { callItem, closing, type CallEnd } from './call-items.ts';
import type { CallKey } from './claim-call.ts';
import { failureReason } from './failure-reasons.ts';
import { finishResponse } from './finish-response.ts';
import { lockHead, publish } from './head.ts';
import { keepItem } from './item-store.ts';
import { recordUnknown } from './lost-calls.ts';
import { ToolCall } from './tool-call.entity.ts';

export interface CallOutcome {
  outcome: 'succeeded' | 'failed' | 'denied' | 'unknown';
  /** What the model is told. */
  result: string;
  /** What the item shows. */
  end: Extract<CallEnd, { status: 'completed' | 'failed' }>;
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
  if (row === null || row.status === 'done' || (head === null && outcome.outcome === 'unknown')) {
    // An unknown outcome of a response that is out of reach is told by its purge.
    return;
  }
  row.status = 'done';
  row.outcome = outcome.outcome;
  row.resultDigest = sha256(outcome.result);
  row.doneAt = head?.now ?? (await databaseNow(em));
  if (head === null) {
    return;
  }
  const { response, now } = head;
  if (outcome.outcome === 'unknown') {
    await recordUnknown(em, response, row);
  }
  if (response.isTerminal) {
    return;
  }
  const item = callItem(row, outcome.end);
  keepItem(em, response, {
    outputIndex: row.outputIndex,
    item,
    providerState: row.providerState ?? null,
    exchange: { call_id: row.callId, name: row.tool, arguments: row.arguments, result: outcome.result },
  });
  await publish(em, response, closing(row, item));
  if (outcome.outcome === 'unknown' && response.request.on_unknown_tool_outcome === 'fail') {
    await em.flush();
    const failure = failureReason('tool_outcome_unknown');
    await finishResponse(em, response, now, { status: 'failed', failure });
  }
  reach('call.before_commit');
}
