import { continueAsNew, proxyActivities, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { scopeErasure } from '../shared/activity-options.ts';
import type { EraseScopeInput, EraseScopeResult } from './messages.ts';

const activities = proxyActivities<Activities>(scopeErasure);

/** Erases what was deleted: nobody finds it any more. The rows that are left say where to go on. */
export async function eraseScope(input: EraseScopeInput): Promise<EraseScopeResult> {
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
