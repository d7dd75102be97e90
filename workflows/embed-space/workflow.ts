import {
  continueAsNew,
  defineSignal,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { spaceEmbedding } from '../shared/activity-options.ts';
import { conclude } from '../shared/conclude.ts';
import type { EmbedSpaceEnd, EmbedSpaceInput } from './messages.ts';

const activities = proxyActivities<Activities>(spaceEmbedding);
const wake = defineSignal('wake');

/**
 * Embeds what documents of a space lack, and builds its next generation of vectors. While the model does not answer,
 * its activity is retried. A signal makes it look once more.
 */
export async function embedSpace(input: EmbedSpaceInput): Promise<EmbedSpaceEnd> {
  let isDue = true;
  setHandler(wake, () => {
    isDue = true;
  });
  for (let slice = 1; isDue; slice += 1) {
    isDue = false;
    setCurrentDetails('Embedding the passages of documents.');
    const { state } = await activities.embedSpace.executeWithOptions({ summary: `slice ${slice}` }, [input]);
    isDue ||= state === 'more';
    if (isDue && workflowInfo().continueAsNewSuggested) {
      await continueAsNew<typeof embedSpace>(input);
    }
  }
  setCurrentDetails('Every passage has its vector.');
  return conclude({ status: 'completed', reason: null });
}
