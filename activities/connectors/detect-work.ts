import type { DeletingRun } from '#domain/knowledge/synchronisation/missing-documents.ts';
import type { DetectDeletionsResult } from '#workflows/sync-connector/messages.ts';
import { hasAnswers, type Asked } from './ask-whether-gone.ts';
import { notePause, pauseOf, type OpenRun, type SourceDependencies } from './run-steps.ts';

/** What a source has answered for so long is stored. */
export const storeMs = 10_000;

/** One step that looks for deletions. */
export interface DetectWork extends SourceDependencies {
  open: OpenRun;
  deleting: DeletingRun;
  endsAt: number;
  signal: AbortSignal;
}

/** How a step ends after some questions, if it does. @throws SourceFailure, the signal's reason */
export async function endOf(
  { unitOfWork, open: { tenantId, run, host }, endsAt, signal }: DetectWork,
  asked: Asked,
): Promise<DetectDeletionsResult | null> {
  signal.throwIfAborted();
  const { stop } = asked;
  if (stop === null) {
    return Date.now() > endsAt ? { state: 'more' } : null;
  }
  // Progress begins the count of attempts again.
  if (stop.code !== 'rate_limited' || !hasAnswers(asked)) throw stop;
  await unitOfWork.inTenant(tenantId, (em) => notePause(em, { tenantId, runId: run.id, host }, stop));
  return { state: 'more', pauseMs: pauseOf(stop) };
}
