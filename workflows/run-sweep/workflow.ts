import {
  condition,
  continueAsNew,
  isCancellation,
  log,
  scheduleActivity,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { Place, RoundResult } from '#domain/operations/sweep-kinds/round.ts';
import { sweepRound } from '../shared/activity-options.ts';
import { wakeSignal, type RoundInput, type RunSweepInput, type Wake } from './messages.ts';

/**
 * The actor of one sweep. It sleeps until a worker's timer signals it, then runs a round, and another at once if the
 * round's time was up before its work was done. The next timer signal retries a failed round.
 */
export async function runSweep(input: RunSweepInput): Promise<void> {
  const { sweep } = input;
  let due: Wake | null = input.due ?? null;
  let place: Place | null = input.place ?? null;
  setHandler(wakeSignal, (wake) => {
    due = wake;
  });
  setCurrentDetails('waits for its time');
  while (!workflowInfo().continueAsNewSuggested) {
    await condition(() => due !== null);
    const wake: Wake | null = due;
    if (wake === null) {
      continue;
    }
    due = null;
    const result = await round(sweep, { place, ...wake });
    place = result?.next ?? null;
    due ??= place === null ? null : wake;
    setCurrentDetails(result === null ? 'the last round failed' : describeRound(result));
  }
  await continueAsNew<typeof runSweep>({ sweep, place, due });
}

async function round(sweep: string, input: RoundInput): Promise<RoundResult | null> {
  try {
    return await scheduleActivity<RoundResult>(sweep, [input], sweepRound(input.budgetSeconds));
  } catch (error) {
    if (isCancellation(error)) {
      throw error;
    }
    log.warn('a round of a sweep failed', { sweep });
    return null;
  }
}

function describeRound({ done, failed, failedTenants = [], next }: RoundResult): string {
  const held = failedTenants.length === 0 ? '' : `, held up by tenant ${failedTenants.join(', ')}`;
  return `last round: ${done} done, failed rows ${failed}${held}${next === null ? '' : ', goes on'}`;
}
