import { raw } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { ModelFailure } from '#domain/capabilities/models/model-gateway.ts';
import { lockLane } from './commit-turn.ts';
import { vendorFailure } from '#domain/responses/record/failure-reasons.ts';
import { finishResponse } from '#domain/responses/end/finish-response.ts';
import { readTurnEvents } from '#domain/responses/store/item-store.ts';
import { textSince } from '#domain/responses/store/open-item.ts';
import type { FailureCode } from '#domain/responses/record/response-status.ts';
import { TurnAttempt } from '#domain/responses/record/turn-attempt.entity.ts';
import type { ClaimedTurn } from '#domain/responses/prompt/turn-claim.ts';
import { Turn } from '#domain/responses/record/turn.entity.ts';
import { finaliseUsage } from '#domain/responses/store/usage.ts';

const vendorFailureCap = 5;

/** What follows a vendor's failure: a retry after a delay, or the failure of the response. */
export type FailureVerdict = { kind: 'retry'; delayMs: number } | { kind: 'failed'; code: FailureCode };

/**
 * Records a vendor's failure and decides about a retry. Failures are counted per turn; crashes are not included.
 * @throws Fenced
 */
export async function failTurn(
  em: EntityManager,
  turn: ClaimedTurn,
  failure: ModelFailure,
): Promise<FailureVerdict> {
  const { response, now } = await lockLane(em, turn);
  const place = { responseId: response.id, iteration: turn.iteration };
  const { runId } = await em.findOneOrFail(TurnAttempt, { ...place, attempt: turn.attempt });
  await em.nativeUpdate(
    TurnAttempt,
    { ...place, attempt: turn.attempt },
    { outcome: 'vendor_failed', failureCode: failure.code, endedAt: now },
  );
  const row = await em.findOneOrFail(Turn, place);
  const text = textSince(await readTurnEvents(em, response, row.firstN), turn.nextN);
  // A run that may be read again is settled when that is decided.
  if (runId == null) {
    await finaliseUsage(em, response, { ...turn, usage: null, text, aborted: true });
  }
  const failures = await em.count(TurnAttempt, { ...place, outcome: 'vendor_failed' });
  if (failure.retryable && failures < vendorFailureCap) {
    return { kind: 'retry', delayMs: failure.retryAfterMs ?? backoffMs(failures) };
  }
  const code: FailureCode =
    failure.code === 'trailing_assistant_refused' || failure.code === 'run_lost'
      ? 'model_error'
      : failure.code;
  const reason = vendorFailure(code, failure.refusal);
  await finishResponse(em, response, now, { status: 'failed', failure: reason });
  return { kind: 'failed', code };
}

/** 0.5 s, 1 s, 2 s, 4 s. */
function backoffMs(failures: number): number {
  return 250 * 2 ** failures;
}

/**
 * Stops the attempt without fault (its worker shuts down, or the recogniser of names or the database is unavailable): it
 * does not count as a crash.
 */
export async function yieldTurn(em: EntityManager, turn: ClaimedTurn): Promise<void> {
  await em.nativeUpdate(
    TurnAttempt,
    { responseId: turn.responseId, iteration: turn.iteration, attempt: turn.attempt, outcome: 'running' },
    { outcome: 'aborted', endedAt: raw('now()') },
  );
}
