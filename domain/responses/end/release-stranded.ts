import type { EntityManager } from '@mikro-orm/postgresql';
import { finishResponse } from './finish-response.ts';
import { failureReason } from '#domain/responses/record/failure-reasons.ts';
import { lockHead } from '#domain/responses/store/head.ts';
import { beginWaiting } from './release-waiting.ts';
import { Response } from '#domain/responses/record/response.entity.ts';
import { ResponseChange, writeLocked } from '#domain/responses/store/response-change.ts';

/** Starts or fails a response that no other blocks any more and that was not released. */
export async function releaseStranded(em: EntityManager, responseId: string): Promise<void> {
  const head = await lockHead(em, responseId);
  if (head === null || head.response.isTerminal || head.response.blockedBy == null) {
    return;
  }
  const { response, now } = head;
  if ((await em.count(Response, { id: head.response.blockedBy, finishedAt: null })) > 0) {
    return;
  }
  const fail = (code: 'internal_error' | 'context_length_exceeded') =>
    finishResponse(em, response, now, { status: 'failed', failure: failureReason(code) });
  if (response.contextFrom != null) {
    // The context that it was to continue was never passed to it, so it cannot start.
    await fail('internal_error');
    return;
  }
  const change = new ResponseChange(response);
  change.response.blockedBy = null;
  const isBegun = await beginWaiting(em, change, now);
  await writeLocked(em, change);
  if (!isBegun) {
    await fail('context_length_exceeded');
  }
}
