import type { EntityManager } from '@mikro-orm/postgresql';
import { rebuildActor } from '#domain/identity/principals/rebuild-actor.ts';
import type { Actor } from '#domain/foundation/access/caller.ts';
import { hitFailpoint } from '#domain/foundation/kernel/failpoint.ts';
import { saveAnswer } from './save-answer.ts';
import { callItem } from '#domain/responses/store/call-items.ts';
import { failureReason } from '#domain/responses/record/failure-reasons.ts';
import { endChange, outputWith } from './end-change.ts';
import { doneItems, usageOf } from '#domain/responses/store/head.ts';
import { readTurnEvents } from '#domain/responses/store/item-store.ts';
import { closeMessage } from '#domain/responses/store/message-events.ts';
import { foldTurn } from '#domain/responses/store/open-item.ts';
import type { Ending } from '#domain/responses/record/response-end.ts';
import { lockWaiting, releaseWaiting } from './release-waiting.ts';
import type { Response } from '#domain/responses/record/response.entity.ts';
import { ResponseChange, writeLocked } from '#domain/responses/store/response-change.ts';
import type { StreamEvent } from '#domain/responses/record/stream-events.ts';
import { ToolCall } from '#domain/responses/record/tool-call.entity.ts';
import { TurnAttempt } from '#domain/responses/record/turn-attempt.entity.ts';
import { Turn } from '#domain/responses/record/turn.entity.ts';
import { finaliseOrphanedUsage } from '#domain/responses/store/usage.ts';

/**
 * Ends a response in the caller's transaction: fences the model lane, closes open items as incomplete, settles usage,
 * publishes the terminal event and records the audit event. The head must be locked.
 * @returns false, without a change, if it had ended already
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
  await em.flush();
  const change = new ResponseChange(response);
  change.response.bumpEpoch();
  const turnEvents = await closeOpenItems(em, change);
  await finaliseOrphanedUsage(em, response, turnEvents);
  await em.nativeUpdate(
    TurnAttempt,
    { responseId: response.id, outcome: 'running' },
    { outcome: 'aborted', endedAt: now },
  );
  await writeEnd(em, change, now, ending);
  hitFailpoint('finish.before_commit');
  return true;
}

/** Writes only the end of a response whose items are closed and whose usage is settled. The head must be locked. */
export async function endResponse(
  em: EntityManager,
  response: Response,
  now: Date,
  ending: Ending,
): Promise<void> {
  await writeEnd(em, new ResponseChange(response), now, ending);
}

/** Writes the end, saves the answer in the thread and releases the responses that wait for this one. */
async function writeEnd(em: EntityManager, change: ResponseChange, now: Date, ending: Ending): Promise<void> {
  const { response } = change;
  await em.flush();
  const output = outputWith(await doneItems(em, response.id), change);
  const usage = await usageOf(em, response);
  const actor = await actorOf(em, response, ending);
  const ip = (await actor.origin.sealedIp?.(em, response.tenantId)) ?? null;
  endChange(change, { ending, now, output, usage, actor, ip });
  await writeLocked(em, change);
  // Lock order: the thread after the rows of its responses, as when a response joins it, and before waiting ones are
  // released.
  const isAwaited = await lockWaiting(em, response);
  await saveAnswer(em, response, output);
  for (const stopped of isAwaited ? await releaseWaiting(em, response) : []) {
    await endResponse(em, stopped.response, now, { status: 'failed', failure: failureReason(stopped.code) });
  }
}

/** The canceller for a cancel, the requester for every other end. */
async function actorOf(em: EntityManager, response: Response, ending: Ending): Promise<Actor> {
  if (ending.status === 'cancelled' && ending.by !== null) {
    return ending.by;
  }
  return rebuildActor(em, response);
}

/** The result, for later turns of the conversation, of a call that was running when its response ended. */
const interruptedText = 'This call was cut off; it may have taken effect.';

/**
 * Closes the open message and the calls without an outcome; what readers received of them stays.
 * @returns the stored events of the turn that was open; none if no turn was
 */
async function closeOpenItems(em: EntityManager, change: ResponseChange): Promise<string[]> {
  const { response } = change;
  const closing: StreamEvent[] = [];
  const turn = await em.findOne(Turn, { responseId: response.id, status: 'open' });
  const turnEvents = turn === null ? [] : await readTurnEvents(em, response, turn.firstN);
  const { closed, open } = foldTurn(turnEvents);
  for (const item of closed) {
    change.addItem(item);
  }
  if (open !== null) {
    const end = closeMessage(open, { status: 'incomplete' });
    change.addItem({ outputIndex: open.outputIndex, item: end.item });
    closing.push(...end.events);
  }
  const calls = await em.find(ToolCall, { responseId: response.id, status: { $ne: 'done' } });
  for (const call of calls) {
    const item = callItem(call, { status: 'incomplete' });
    change.addItem({
      outputIndex: call.outputIndex,
      item,
      providerState: call.providerState ?? null,
      exchange: {
        call_id: call.callId,
        name: call.tool,
        arguments: call.arguments,
        result: call.status === 'started' ? interruptedText : null,
      },
    });
    closing.push({ type: 'response.output_item.done', output_index: call.outputIndex, item });
  }
  change.publish(closing);
  return turnEvents;
}
