import type { EntityManager } from '@mikro-orm/postgresql';
import { rebuildCaller } from '#domain/foundation/access/load-caller.ts';
import { Model } from '#domain/capabilities/models/model.entity.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { exceeds, messageTexts } from '#domain/responses/prompt/context-snapshot.ts';
import { failureReason } from '#domain/responses/record/failure-reasons.ts';
import { finishResponse } from '#domain/responses/end/finish-response.ts';
import { lockHead } from '#domain/responses/store/head.ts';
import { ResponseChange, writeLocked } from '#domain/responses/store/response-change.ts';
import type { HeadState } from '#domain/responses/prompt/read-turn.ts';
import type { FailureCode } from '#domain/responses/record/response-status.ts';
import { inThreadsOf } from '#domain/conversations/threads/in-thread.ts';
import { placeHistory } from '#domain/responses/prompt/place-history.ts';
import { Thread } from '#domain/conversations/threads/thread.entity.ts';

/**
 * Includes the history of its branch in a response that was blocked, once it may start. Permissions and messages are
 * those of this moment: a requester that may no longer write there gets nothing, and messages deleted meanwhile are
 * left out.
 */
export async function includeHistory(unitOfWork: UnitOfWork, state: HeadState): Promise<void> {
  const { tenantId, id } = state.response;
  await unitOfWork.inTenant(tenantId, async (em) => {
    const head = await lockHead(em, id);
    if (head === null || head.response.isTerminal || !head.response.historyDue) {
      return;
    }
    const { response, now } = head;
    const change = new ResponseChange(response);
    const refused = await include(em, change, state);
    await writeLocked(em, change);
    if (refused !== null) {
      await finishResponse(em, response, now, { status: 'failed', failure: failureReason(refused) });
    }
  });
}

async function include(
  em: EntityManager,
  { response }: ResponseChange,
  { requester }: HeadState,
): Promise<FailureCode | null> {
  const { threadId: id } = response;
  const thread = id == null ? null : await em.findOne(Thread, { id, status: { $ne: 'deleted' } });
  const { contextWindow } = await em.findOneOrFail(Model, { id: response.modelId });
  if (thread !== null) {
    const there = await inThreadsOf({ em, caller: rebuildCaller(response, requester) }, thread.projectId);
    if (!there.caller.granted.has('messages.create')) {
      return 'permission_revoked';
    }
    const asked = await messageTexts(em, response.id);
    await placeHistory(em, response, { asked, contextWindow });
  }
  response.historyDue = false;
  return (await exceeds(em, response.id, contextWindow)) ? 'context_length_exceeded' : null;
}
