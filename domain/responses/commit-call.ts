import { askerOf } from '#domain/access/load-caller.ts';
import { sha256 } from '#domain/kernel/canonical-json.ts';
import { reach } from '#domain/kernel/failpoint.ts';
import { databaseNow } from '#domain/persistence/database-now.ts';
import { copyEntity } from '#domain/persistence/rows.ts';
import { callItem, closing, type CallEnd } from './call-items.ts';
import type { CallKey } from './claim-call.ts';
import { endClaimed } from './end-claimed.ts';
import { failureReason } from './failure-reasons.ts';
import { unknownEvent } from './lost-calls.ts';
import { readCall, type HeadState } from './read-turn.ts';
import { ResponseChange, writeChange, type ResponseStore } from './response-change.ts';
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
export async function commitCall(store: ResponseStore, key: CallKey, outcome: CallOutcome): Promise<void> {
  for (;;) {
    const { head, call } = await readCall(store.database, key);
    if (call === null || call.status === 'done') {
      return;
    }
    if (head === null) {
      return settleAlone(store, key, outcome);
    }
    const change = new ResponseChange(head.response);
    settleCall(change, head, call, outcome);
    reach('call.before_commit');
    const fatal =
      outcome.outcome === 'unknown' &&
      !head.response.isTerminal &&
      head.response.request.on_unknown_tool_outcome === 'fail';
    const written = fatal
      ? await endClaimed(store.unitOfWork, change, {
          status: 'failed',
          failure: failureReason('tool_outcome_unknown'),
        })
      : (await writeChange(store.database, change)) === 'in';
    if (written) {
      return;
    }
  }
}

function settleCall(change: ResponseChange, head: HeadState, call: ToolCall, outcome: CallOutcome): void {
  const { response, now } = head;
  const row = copyEntity(call);
  row.status = 'done';
  row.outcome = outcome.outcome;
  row.resultDigest = sha256(outcome.result);
  row.doneAt = now;
  change.step(call, row);
  if (outcome.outcome === 'unknown') {
    change.record(askerOf(response, head.asker), unknownEvent(response, row));
  }
  if (response.isTerminal) {
    return;
  }
  const item = callItem(row, outcome.end);
  change.keep({
    outputIndex: row.outputIndex,
    item,
    providerState: row.providerState ?? null,
    exchange: { call_id: row.callId, name: row.tool, arguments: row.arguments, result: outcome.result },
  });
  change.publish(closing(row, item));
}

/** Of a response that is out of reach. An unknown outcome is told by its purge. */
async function settleAlone(store: ResponseStore, key: CallKey, outcome: CallOutcome): Promise<void> {
  if (outcome.outcome === 'unknown') {
    return;
  }
  const { tenantId, responseId, iteration, callIndex } = key;
  await store.unitOfWork.inTenant(tenantId, async (em) => {
    await em.nativeUpdate(
      ToolCall,
      { responseId, iteration, callIndex, status: { $ne: 'done' } },
      {
        status: 'done',
        outcome: outcome.outcome,
        resultDigest: sha256(outcome.result),
        doneAt: await databaseNow(em),
      },
    );
  });
}
