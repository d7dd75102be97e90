import { setTimeout as sleep } from 'node:timers/promises';
import { Context as ActivityContext } from '@temporalio/activity';
import { hitFailpoint } from '#domain/foundation/kernel/failpoint.ts';
import type { Metrics } from '#domain/foundation/kernel/metrics.ts';
import { ModelFailure, type ModelGateway } from '#domain/capabilities/models/model-gateway.ts';
import { claimTurn } from '#domain/responses/turn/claim-turn.ts';
import { commitTurn, committedResult, Fenced, type TurnOutcome } from '#domain/responses/turn/commit-turn.ts';
import type { ResponseStore } from '#domain/responses/store/response-change.ts';
import { saveRunId } from '#domain/responses/turn/save-run-id.ts';
import { failTurn, yieldTurn } from '#domain/responses/turn/fail-turn.ts';
import type { ClaimedTurn } from '#domain/responses/prompt/turn-claim.ts';
import type { TurnKey } from '#domain/responses/record/turn-key.ts';
import type { TurnResult } from '#domain/responses/record/turn-result.ts';
import { retryLater } from '../failures.ts';
import { interruption, isCancelled } from '../interruption.ts';
import { keepAlive } from '../keep-alive.ts';
import { abandonRun } from './abandon-run.ts';
import { commitWithRetry } from './commit-with-retry.ts';
import { screenCalls } from './screen-call.ts';
import { screenPrompt } from './screen-prompt.ts';
import type { ScreeningDependencies } from './screening.ts';
import { searchTools } from './search-tools.ts';
import { streamTurn } from './stream-turn.ts';
import type { StreamWriter } from './stream-writer.ts';
import { isTemporary } from './temporary-failure.ts';

export interface TurnDependencies extends ScreeningDependencies, ResponseStore {
  models: ModelGateway;
  writer: StreamWriter;
  metrics: Metrics;
}

const yieldPatienceMs = 1_000;
const maxPauseMs = 10_000;

/**
 * One model turn: claim, stream, commit. Repeatable: a committed turn returns its result, an interrupted one
 * continues from the exact character that readers have.
 */
export function runTurn(deps: TurnDependencies, key: TurnKey): Promise<TurnResult> {
  return keepAlive(async (stop) => {
    const claim = await claimTurn(deps, deps.secrets, key);
    hitFailpoint('turn.after_claim');
    return claim.kind === 'settled' ? claim.result : await attempt(deps, claim.turn, stop);
  });
}

async function attempt(
  deps: TurnDependencies,
  claimed: ClaimedTurn,
  stop: AbortController,
): Promise<TurnResult> {
  try {
    const turn = await screenPrompt(deps, claimed);
    const startedAt = performance.now();
    const streamed = await stream(deps, turn, stop);
    // The model is not asked again because its calls cannot be screened or answered yet.
    const answered = commitWithRetry(
      async () => searchTools(deps, turn, await screenCalls(deps, turn, streamed)),
      stop.signal,
    );
    // A thread for long texts may be waited for beyond the shutdown of this worker.
    const outcome = await Promise.race([answered, ActivityContext.current().cancelled]);
    const result = await commit(deps, turn, { outcome, abandoned: stop.signal });
    hitFailpoint('turn.after_commit');
    deps.metrics.modelTurn({ outcome: 'committed', seconds: (performance.now() - startedAt) / 1_000 });
    hitFailpoint('activity.before_completion');
    return result;
  } catch (error) {
    return await handleFailure(deps, claimed, error);
  }
}

/**
 * Commits while this attempt holds the lane. If the response to the commit was lost, its result tells whether it
 * succeeded.
 */
function commit(
  deps: TurnDependencies,
  turn: ClaimedTurn,
  { outcome, abandoned }: { outcome: TurnOutcome; abandoned: AbortSignal },
): Promise<TurnResult> {
  const { unitOfWork, secrets } = deps;
  return commitWithRetry(async (doubtful) => {
    try {
      return await commitTurn(deps, secrets, turn, outcome);
    } catch (error) {
      const stored =
        doubtful && error instanceof Fenced
          ? await unitOfWork.inTenant(turn.tenantId, (em) => committedResult(em, turn))
          : null;
      if (stored === null) {
        throw error;
      }
      return stored;
    }
  }, abandoned);
}

async function stream(
  deps: TurnDependencies,
  turn: ClaimedTurn,
  stop: AbortController,
): Promise<TurnOutcome> {
  const lane = deps.writer.open(turn, turn.nextN, (reason) => stop.abort(reason));
  // Lets an attempt that waits for the database still release its turn.
  stop.signal.addEventListener('abort', () => lane.fail(stop.signal.reason as Error), { once: true });
  let runId = turn.resume;
  try {
    return await streamTurn(deps.models, turn, {
      lane,
      signal: stop.signal,
      saveRunId: (id) => {
        runId = id;
        return commitWithRetry(
          () => deps.unitOfWork.inTenant(turn.tenantId, (em) => saveRunId(em, turn, id)),
          stop.signal,
        );
      },
    });
  } catch (error) {
    if (runId !== null) {
      // Other reasons mean that Temporal gave this attempt up, perhaps because another attempt reads the run by now.
      const cancelled = isCancelled(['CANCELLED']);
      const lost = error instanceof ModelFailure && error.code === 'run_lost';
      await abandonRun(deps, turn, { runId, cancelled, lost });
    }
    throw error;
  } finally {
    deps.writer.close(lane);
  }
}

/**
 * Maps the error that ended an attempt: the vendor, another writer, a shutdown, a cancel, a service of the platform that
 * is unavailable, or a defect. Only a defect is left to count as a crash.
 */
async function handleFailure(deps: TurnDependencies, turn: ClaimedTurn, error: unknown): Promise<TurnResult> {
  if (ActivityContext.current().cancellationSignal.aborted) {
    await release(deps, turn);
    throw interruption();
  }
  if (error instanceof ModelFailure) {
    deps.metrics.modelTurn({ outcome: error.code, seconds: 0 });
    try {
      const verdict = await commitWithRetry(
        () => deps.unitOfWork.inTenant(turn.tenantId, (em) => failTurn(em, turn, error)),
        ActivityContext.current().cancellationSignal,
      );
      if (verdict.kind === 'failed') {
        return { next: 'done', calls: [], end: { status: 'failed', reason: verdict.code } };
      }
      throw retryLater(error.code, verdict.delayMs);
    } catch (fault) {
      throw fault instanceof Fenced ? retryLater('fenced') : fault;
    }
  }
  if (error instanceof Fenced) {
    throw retryLater('fenced');
  }
  if (isTemporary(error)) {
    deps.metrics.modelTurn({ outcome: 'services_unavailable', seconds: 0 });
    await release(deps, turn);
    throw retryLater('services_unavailable', pauseMs(turn));
  }
  throw error;
}

/** Best effort: if it cannot be written, the next claim settles the attempt, as a crash. */
async function release(deps: TurnDependencies, turn: ClaimedTurn): Promise<void> {
  const yielded = deps.unitOfWork.inTenant(turn.tenantId, (em) => yieldTurn(em, turn));
  await Promise.race([yielded.catch(() => undefined), sleep(yieldPatienceMs)]);
}

/** 0.5 s, doubled with each attempt at the turn up to 10 s: an outage is waited for until the response's deadline. */
function pauseMs({ attempt: number }: ClaimedTurn): number {
  return Math.min(250 * 2 ** number, maxPauseMs);
}
