import type { EntityManager } from '@mikro-orm/postgresql';
import { failureReason } from '#domain/responses/record/failure-reasons.ts';
import { finishResponse } from './finish-response.ts';
import { lockHead } from '#domain/responses/store/head.ts';
import { queueLimitMs, type FailureCode } from '#domain/responses/record/response-status.ts';

/** Why a workflow closes a response from outside of its turns. */
export type CloseReason =
  | { kind: 'deadline' }
  | { kind: 'cancelled' }
  | { kind: 'failed'; code: Extract<FailureCode, 'internal_error' | 'engine_unavailable' | 'model_timeout'> };

/** @returns milliseconds until the deadline if called too early, else null: the response has ended */
export async function closeResponse(
  em: EntityManager,
  responseId: string,
  reason: CloseReason,
): Promise<number | null> {
  const head = await lockHead(em, responseId);
  if (head === null || head.response.isTerminal) {
    return null;
  }
  const { response, now } = head;
  switch (reason.kind) {
    case 'deadline': {
      const leftMs =
        (response.deadlineAt?.getTime() ?? response.queuedSince.getTime() + queueLimitMs) - now.getTime();
      if (leftMs > 0) {
        return leftMs;
      }
      await finishResponse(
        em,
        response,
        now,
        response.status === 'queued'
          ? { status: 'failed', failure: failureReason('engine_unavailable') }
          : { status: 'incomplete', reason: 'deadline_exceeded' },
      );
      return null;
    }
    case 'cancelled':
      await finishResponse(em, response, now, { status: 'cancelled', by: null });
      return null;
    case 'failed':
      await finishResponse(em, response, now, { status: 'failed', failure: failureReason(reason.code) });
      return null;
  }
}
