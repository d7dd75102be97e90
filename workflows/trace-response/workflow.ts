import { ActivityFailure, isCancellation, proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { traceExport } from '../shared/activity-options.ts';
import type { TraceResponseInput, TraceResponseResult } from './messages.ts';

const activities = proxyActivities<Activities>(traceExport);

/** Sends the trace of a response that has ended to where its space wants it. Nothing waits for it. */
export async function traceResponse(input: TraceResponseInput): Promise<TraceResponseResult> {
  setCurrentDetails('Sending the trace.');
  const result = await send(input);
  setCurrentDetails(`The trace was ${result.outcome}.`);
  return result;
}

/** An endpoint that stays away is the space's affair, not a failure of ours. */
async function send(input: TraceResponseInput): Promise<TraceResponseResult> {
  try {
    return await activities.exportTrace.executeWithOptions({ summary: 'export trace' }, [input]);
  } catch (error) {
    if (error instanceof ActivityFailure && !isCancellation(error)) {
      return { outcome: 'given_up' };
    }
    throw error;
  }
}
