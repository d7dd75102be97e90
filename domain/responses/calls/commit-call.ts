import { requesterOf } from '#domain/foundation/access/load-caller.ts';
import { sha256 } from '#domain/foundation/kernel/canonical-json.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { hitFailpoint } from '#domain/foundation/kernel/failpoint.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { copyEntity } from '#domain/foundation/persistence/rows.ts';
import type { ToolMedia } from '#domain/capabilities/tools/tool-server.ts';
import { callItem, closing, type CallEnd } from '#domain/responses/store/call-items.ts';
import { isHeld, newClaimant, type Claimant } from './call-lease.ts';
import type { CallKey } from '#domain/responses/record/turn-key.ts';
import { endClaimed } from '#domain/responses/end/end-claimed.ts';
import { failureReason } from '#domain/responses/record/failure-reasons.ts';
import { learnedEvent, unknownEvent } from './lost-calls.ts';
import { readCall, type HeadState } from '#domain/responses/prompt/read-turn.ts';
import {
  ResponseChange,
  writeChange,
  type CallHold,
  type ResponseStore,
} from '#domain/responses/store/response-change.ts';
import { ToolCall } from '#domain/responses/record/tool-call.entity.ts';

export interface CallOutcome {
  outcome: 'succeeded' | 'failed' | 'denied' | 'unknown';
  /** The text that the model gets. */
  result: string;
  /** Images and sounds of the result. */
  media?: ToolMedia[];
  /** The end of the call as its item shows it. */
  end: Extract<CallEnd, { status: 'completed' | 'failed' }>;
}

/**
 * Settles a call once. If the response has ended meanwhile, only the ledger is updated: readers have received their
 * terminal event. A tool's answer counts, whichever attempt holds the call; any other outcome is left to the holder.
 * @returns `held` if nothing was settled because another attempt holds the call; `late` after the end of the response
 */
export async function commitCall(
  store: ResponseStore,
  key: CallKey,
  outcome: CallOutcome,
  claimant: Claimant = newClaimant(),
): Promise<'settled' | 'late' | 'held'> {
  for (;;) {
    const { head, call } = await readCall(store.database, key);
    if (call === null) {
      return 'settled';
    }
    if (call.status === 'done') {
      await saveLateOutcome(store, { head, call, outcome });
      return 'settled';
    }
    const known = isAnswer(outcome);
    if (!known && head !== null && isHeld(call, head.now, claimant)) {
      return 'held';
    }
    if (head === null) {
      await saveOutcomeAlone(store, key, outcome);
      return 'settled';
    }
    const change = new ResponseChange(head.response);
    applyOutcome(change, head, call, { outcome, hold: { nonce: claimant.nonce, known } });
    hitFailpoint('call.before_commit');
    const fatal =
      outcome.outcome === 'unknown' &&
      !head.response.isTerminal &&
      head.response.request.on_unknown_tool_outcome === 'fail';
    const written = fatal
      ? await endClaimed(store.unitOfWork, change, {
          status: 'failed',
          failure: failureReason('tool_outcome_unknown'),
        })
      : (await writeChange(store.database, change)) === 'applied';
    if (written) {
      return head.response.isTerminal ? 'late' : 'settled';
    }
  }
}

/**
 * Whether the outcome is the tool's own answer: not if it was derived from a timeout or from our own rules, and not
 * if this attempt was refused or did not reach the server, since another attempt may have.
 */
function isAnswer({ outcome, end }: CallOutcome): boolean {
  const isOfAttempt =
    end.status === 'failed' &&
    (end.error.type === 'http_error' ||
      end.error.code === 'tool_withheld' ||
      end.error.code === 'authorization_required');
  return outcome === 'succeeded' || (outcome === 'failed' && !isOfAttempt);
}

function applyOutcome(
  change: ResponseChange,
  head: HeadState,
  call: ToolCall,
  { outcome, hold }: { outcome: CallOutcome; hold: CallHold },
): void {
  const { response, now } = head;
  const row = copyEntity(call);
  row.status = 'done';
  row.outcome = outcome.outcome;
  row.resultDigest = sha256(outcome.result);
  row.doneAt = now;
  change.step(call, row, hold);
  if (outcome.outcome === 'unknown') {
    change.record(requesterOf(response, head.requester), unknownEvent(response, row));
  }
  if (response.isTerminal) {
    return;
  }
  const item = callItem(row, outcome.end);
  change.addItem({
    outputIndex: row.outputIndex,
    item,
    providerState: row.providerState ?? null,
    exchange: {
      call_id: row.callId,
      name: row.tool,
      arguments: row.arguments,
      result: outcome.result,
      ...(outcome.media === undefined ? {} : { media: outcome.media }),
    },
  });
  change.publish(closing(row, item));
}

/**
 * Records the outcome of a call that was settled as unknown because its holder was paused for longer than its lease.
 * Items, stream and ledger stay unchanged; the event spares operators the investigation.
 */
async function saveLateOutcome(
  store: ResponseStore,
  { head, call, outcome }: { head: HeadState | null; call: ToolCall; outcome: CallOutcome },
): Promise<void> {
  if (head === null || call.outcome !== 'unknown' || !isAnswer(outcome)) {
    return;
  }
  const { response, requester } = head;
  await store.unitOfWork.inTenant(response.tenantId, (em) =>
    recordEvent(em, requesterOf(response, requester), learnedEvent(response, call, outcome.outcome)),
  );
}

/** For an expired or deleted response. Its purge records an unknown outcome. */
async function saveOutcomeAlone(store: ResponseStore, key: CallKey, outcome: CallOutcome): Promise<void> {
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
