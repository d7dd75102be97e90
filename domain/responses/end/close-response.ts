import type { EntityManager } from '@mikro-orm/postgresql';
import { failureReason } from '#domain/responses/record/failure-reasons.ts';
import { finishResponse } from './finish-response.ts';
import type { Response } from '#domain/responses/record/response.entity.ts';
import { lockHead } from '#domain/responses/store/head.ts';
import { queueLimitMs, type FailureCode } from '#domain/responses/record/response-status.ts';

/** Why a workflow closes a response from outside of its turns. */
export type CloseReason =
  | { kind: 'deadline' }
  | { kind: 'cancelled' }
  | { kind: 'failed'; code: Extract<FailureCode, 'internal_error' | 'engine_unavailable' | 'model_timeout'> };

/** How soon the workflow of a response asks again at the earliest, while the response waits for its first turn. */
const minQueuedLookMs = 10_000;

/** @returns milliseconds until the next look if called too early, else null: the response has ended */
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
      const ends = response.deadlineAt?.getTime() ?? response.queuedSince.getTime() + queueLimitMs;
      const leftMs = ends - now.getTime();
      if (leftMs > 0) {
        return response.deadlineAt == null ? Math.min(leftMs, queuedLookMs(response)) : leftMs;
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

/**
 * The deadline runs from the first turn, which may begin at any moment: a look comes no later than it, or some seconds
 * after it where it is short, since each look is an activity.
 */
function queuedLookMs({ governance }: Response): number {
  return Math.max(minQueuedLookMs, governance.limits.timeout_seconds * 1_000);
}
