import type { EntityManager } from '@mikro-orm/postgresql';
import { rebuildActor } from '#domain/identity/principals/rebuild-actor.ts';
import type { AuditEvent } from '#domain/foundation/events/record-event.ts';
import type { Actor } from '#domain/foundation/access/caller.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { reach } from '#domain/foundation/kernel/failpoint.ts';
import { oweTrace } from './owe-trace.ts';
import { keepAnswer } from './keep-answer.ts';
import { callItem } from '#domain/responses/store/call-items.ts';
import { failureReason } from '#domain/responses/record/failure-reasons.ts';
import { currentRecord, publish } from '#domain/responses/store/head.ts';
import { keepItem, readTurnEvents } from '#domain/responses/store/item-store.ts';
import { closeMessage } from '#domain/responses/store/message-events.ts';
import { foldTurn } from '#domain/responses/store/open-item.ts';
import type { Ending } from '#domain/responses/record/response-end.ts';
import type { ResponseRecord } from '#domain/responses/record/response-record.ts';
import type { TerminalStatus } from '#domain/responses/record/response-status.ts';
import { lockWaiting, releaseWaiting } from './release-waiting.ts';
import type { Response } from '#domain/responses/record/response.entity.ts';
import type { StreamEvent } from '#domain/responses/record/stream-events.ts';
import { ToolCall } from '#domain/responses/record/tool-call.entity.ts';
import { TurnAttempt } from '#domain/responses/record/turn-attempt.entity.ts';
import { Turn } from '#domain/responses/record/turn.entity.ts';
import { settleOrphans } from '#domain/responses/store/usage.ts';

/**
 * Ends a response in the caller's transaction: fences the model lane, closes what is open as incomplete,
 * settles usage, publishes the terminal event and records the audit event. The head must be locked.
 * @returns false when it had ended before; nothing is changed then.
 */
export async function finishResponse(
  em: EntityManager,
  response: Response,
  now: Date,
  ending: Ending,
): Promise<boolean> {
  if (response.isTerminal) {
    return false;
  }
  response.bumpEpoch();
  const open = await closeOpenItems(em, response);
  await settleOrphans(em, response, open.turnEvents);
  await em.nativeUpdate(
    TurnAttempt,
    { responseId: response.id, outcome: 'running' },
    { outcome: 'aborted', endedAt: now },
  );
  await publish(em, response, open.closing);
  await endResponse(em, response, now, ending);
  reach('finish.before_commit');
  return true;
}

/** Where the events of a response stand follows from its expiry, so they move with it. */
async function shortenLife(em: EntityManager, { id, expiresAt }: Response): Promise<void> {
  await em.execute('update response_ids set expires_at = ? where id = ?', [expiresAt, id]);
  await em.execute('update stream_runs set expires_at = ? where response_id = ?', [expiresAt, id]);
}

/** The terminal event and the audit event alone: for a turn that has closed its own items. */
export async function endResponse(
  em: EntityManager,
  response: Response,
  now: Date,
  ending: Ending,
): Promise<void> {
  applyEnding(response, now, ending);
  const record = await currentRecord(em, response);
  response.record = JSON.stringify(record);
  if (response.isUnstored) {
    await shortenLife(em, response);
  }
  await publish(em, response, [{ type: `response.${ending.status}`, response: record }]);
  await recordEvent(em, await actorOf(em, response, ending), auditOf(response, now, record));
  await oweTrace(em, response);
  // The thread comes behind the rows of its responses, as for whoever joins it, and before those are told of it.
  const isAwaited = await lockWaiting(em, response);
  await keepAnswer(em, response, record.output);
  for (const stopped of isAwaited ? await releaseWaiting(em, response) : []) {
    await endResponse(em, stopped.response, now, { status: 'failed', failure: failureReason(stopped.code) });
  }
}

export function applyEnding(response: Response, now: Date, ending: Ending): void {
  response.finish(ending.status, now);
  switch (ending.status) {
    case 'incomplete':
      response.incompleteReason = ending.reason;
      break;
    case 'failed':
      response.failure = ending.failure;
      break;
    case 'cancelled':
      response.cancelledBy = ending.by?.principalId ?? null;
      break;
    case 'completed':
  }
}

/** From this on the requester of a response has turned away from it, and wants to know of its completion. */
const longResponseMs = 60_000;

/** The event of the end of a response. */
export function auditOf(
  response: Response,
  now: Date,
  { status, usage }: Pick<ResponseRecord, 'status' | 'usage'>,
): AuditEvent {
  const durationMs = now.getTime() - response.createdAt.getTime();
  const asked = response.metadata?.['notify'] === 'true';
  return {
    type: `space.response_${status as TerminalStatus}`,
    resource: { type: 'response', id: response.id },
    outcome: status === 'failed' ? 'failure' : 'success',
    metadata: {
      space_id: response.spaceId,
      reason: response.incompleteReason ?? response.failure?.code ?? null,
      cost_usd: usage.cost_usd,
      duration_ms: durationMs,
      ...(asked ? { notify: true } : {}),
    },
    dedupeKey: `response/${response.id}/finished`,
    notify: status !== 'completed' || asked || durationMs > longResponseMs,
  };
}

/** A cancel names whoever cancelled; every other end names whoever asked. */
async function actorOf(em: EntityManager, response: Response, ending: Ending): Promise<Actor> {
  if (ending.status === 'cancelled' && ending.by !== null) {
    return ending.by;
  }
  return rebuildActor(em, response);
}

/** What later turns of a conversation are told of a call that was running when its response ended. */
const cutOff = 'This call was cut off; it may have taken effect.';

interface ClosedItems {
  closing: StreamEvent[];
  /** The stored events of the turn that was open; none when no turn was. */
  turnEvents: string[];
}

/** Closes the open message and the calls without an outcome; what readers have of them stays. */
async function closeOpenItems(em: EntityManager, response: Response): Promise<ClosedItems> {
  const closing: StreamEvent[] = [];
  const turn = await em.findOne(Turn, { responseId: response.id, status: 'open' });
  const turnEvents = turn === null ? [] : await readTurnEvents(em, response, turn.firstN);
  const { closed, open } = foldTurn(turnEvents);
  for (const item of closed) {
    keepItem(em, response, item);
  }
  if (open !== null) {
    const end = closeMessage(open, { status: 'incomplete' });
    keepItem(em, response, { outputIndex: open.outputIndex, item: end.item });
    closing.push(...end.events);
  }
  const calls = await em.find(ToolCall, { responseId: response.id, status: { $ne: 'done' } });
  for (const call of calls) {
    const item = callItem(call, { status: 'incomplete' });
    keepItem(em, response, {
      outputIndex: call.outputIndex,
      item,
      providerState: call.providerState ?? null,
      exchange: {
        call_id: call.callId,
        name: call.tool,
        arguments: call.arguments,
        result: call.status === 'started' ? cutOff : null,
      },
    });
    closing.push({ type: 'response.output_item.done', output_index: call.outputIndex, item });
  }
  return { closing, turnEvents };
}
