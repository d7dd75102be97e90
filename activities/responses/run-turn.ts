import { Context as ActivityContext } from '@temporalio/activity';
import { CancelledFailure } from '@temporalio/common';
import { reach } from '#domain/kernel/failpoint.ts';
import type { Secrets } from '#domain/kernel/secrets.ts';
import type { Metrics } from '#domain/kernel/metrics.ts';
import { ModelFailure, type ModelGateway } from '#domain/models/model-gateway.ts';
import type { UnitOfWork } from '#domain/persistence/unit-of-work.ts';
import { claimTurn } from '#domain/responses/claim-turn.ts';
import { commitTurn, Fenced, type TurnOutcome } from '#domain/responses/commit-turn.ts';
import { failTurn, yieldTurn } from '#domain/responses/fail-turn.ts';
import type { ClaimedTurn, TurnKey } from '#domain/responses/turn-claim.ts';
import type { TurnResult } from '#domain/responses/turn-result.ts';
import { retryLater } from '../failures.ts';
import { keepAlive } from '../keep-alive.ts';
import { streamTurn } from './stream-turn.ts';
import type { StreamWriter } from './stream-writer.ts';

export interface TurnDependencies {
  unitOfWork: UnitOfWork;
  secrets: Secrets;
  models: ModelGateway;
  writer: StreamWriter;
  metrics: Metrics;
}

/**
 * One model turn: claim, stream, commit. May run any number of times: a committed turn answers its result,
 * an interrupted one goes on from the exact character that readers have.
 */
export async function runTurn(deps: TurnDependencies, key: TurnKey): Promise<TurnResult> {
  const { unitOfWork, secrets } = deps;
  const claim = await unitOfWork.inTenant(key.tenantId, (em) => claimTurn(em, secrets, key));
  reach('turn.after_claim');
  if (claim.kind === 'settled') {
    return claim.result;
  }
  const { turn } = claim;
  const stop = new AbortController();
  const beat = keepAlive(stop);
  const startedAt = performance.now();
  try {
    const outcome = await stream(deps, turn, stop);
    const result = await unitOfWork.inTenant(key.tenantId, (em) => commitTurn(em, secrets, turn, outcome));
    reach('turn.after_commit');
    deps.metrics.modelTurn({ outcome: 'committed', seconds: (performance.now() - startedAt) / 1_000 });
    reach('activity.before_completion');
    return result;
  } catch (error) {
    return await settleFailure(deps, turn, error);
  } finally {
    beat.stop();
  }
}

async function stream(
  deps: TurnDependencies,
  turn: ClaimedTurn,
  stop: AbortController,
): Promise<TurnOutcome> {
  const lane = deps.writer.open(turn, turn.nextN, (reason) => stop.abort(reason));
  try {
    return await streamTurn(deps.models, turn, lane, stop.signal);
  } finally {
    deps.writer.close(lane);
  }
}

/** Maps what ended an attempt: the vendor, another writer, a shutdown, a cancel, or a fault of ours. */
async function settleFailure(deps: TurnDependencies, turn: ClaimedTurn, error: unknown): Promise<TurnResult> {
  const { cancellationSignal } = ActivityContext.current();
  if (cancellationSignal.aborted) {
    await deps.unitOfWork.inTenant(turn.tenantId, (em) => yieldTurn(em, turn));
    const reason: unknown = cancellationSignal.reason;
    throw reason instanceof CancelledFailure && reason.message !== 'WORKER_SHUTDOWN'
      ? reason
      : retryLater('worker_shutdown');
  }
  if (error instanceof ModelFailure) {
    deps.metrics.modelTurn({ outcome: error.code, seconds: 0 });
    try {
      const verdict = await deps.unitOfWork.inTenant(turn.tenantId, (em) => failTurn(em, turn, error));
      if (verdict.kind === 'failed') {
        return { next: 'done', calls: [] };
      }
      throw retryLater(error.code, verdict.delayMs);
    } catch (fault) {
      throw fault instanceof Fenced ? retryLater('fenced') : fault;
    }
  }
  if (error instanceof Fenced) {
    throw retryLater('fenced');
  }
  throw error;
}
