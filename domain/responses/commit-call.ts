import type { EntityManager } from '@mikro-orm/postgresql';
import { rebuildActor } from '#domain/access/rebuild-actor.ts';
import { recordEvent } from '#domain/events/record-event.ts';
import { sha256 } from '#domain/kernel/canonical-json.ts';
import { reach } from '#domain/kernel/failpoint.ts';
import { callItem, closing, type CallEnd } from './call-items.ts';
import type { CallKey } from './claim-call.ts';
import { failureReason } from './failure-reasons.ts';
import { finishResponse } from './finish-response.ts';
import { lockHead, publish } from './head.ts';
import { keepItem } from './item-store.ts';
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
  if (head === null || row === null || row.status === 'done') {
    return;
  }
  const { response, now } = head;
  row.status = 'done';
  row.outcome = outcome.outcome;
  row.resultDigest = sha256(outcome.result);
  row.doneAt = now;
  if (outcome.outcome === 'unknown') {
    await recordEvent(em, await rebuildActor(em, response), {
      type: 'space.tool_outcome_unknown',
      resource: { type: 'response', id: response.id },
      outcome: 'failure',
      metadata: { space_id: response.spaceId, tool: row.tool, call_id: row.callId },
      dedupeKey: `response/${response.id}/${row.callId}/unknown`,
    });
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
