import { continueAsNew, proxyActivities, setCurrentDetails, sleep, workflowInfo } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { scopeErasure } from '../shared/activity-options.ts';
import type { EraseScopeInput, EraseScopeResult } from './messages.ts';

/** Rounds that wait for what goes on in a space or for a person, about half an hour of them: then its rows are erased nevertheless. */
const maxRounds = 180;

const activities = proxyActivities<Activities>(scopeErasure);

/** Erases what was deleted: nobody finds it any more. The rows that are left say where to go on. */
export async function eraseScope(input: EraseScopeInput): Promise<EraseScopeResult> {
  if (input.rootType === 'space') {
    await halt(input, activities.haltDeletedSpace);
  }
  if (input.rootType === 'principal') {
    await halt(input, activities.haltDeletedPrincipal);
  }
  setCurrentDetails(`Erasing the ${input.rootType}.`);
  let rows = 0;
  for (let slice = 1; ; slice += 1) {
    const erased = await activities.eraseScopeSlice.executeWithOptions({ summary: `slice ${slice}` }, [
      input,
    ]);
    rows += erased.rows;
    if (erased.isGone) {
      setCurrentDetails(`The ${input.rootType} is erased.`);
      return { rows };
    }
    setCurrentDetails(`Erasing the ${input.rootType}: ${rows} rows so far.`);
    if (workflowInfo().continueAsNewSuggested) {
      await continueAsNew<typeof eraseScope>(input);
    }
  }
}

async function halt(
  input: EraseScopeInput,
  activity: typeof activities.haltDeletedSpace | typeof activities.haltDeletedPrincipal,
): Promise<void> {
  for (let round = 1; round <= maxRounds; round += 1) {
    const awaited = await activity.executeWithOptions({ summary: `halt, round ${round}` }, [input]);
    if (awaited === 0) {
      return;
    }
    setCurrentDetails(
      `Halting the ${input.rootType}: ${awaited} responses, calls, connections or notices have not ended.`,
    );
    await sleep(Math.min(500 * round, 10_000));
  }
}
