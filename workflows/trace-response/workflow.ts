import {
  ActivityFailure,
  ApplicationFailure,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
} from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { traceExport } from '../shared/activity-options.ts';
import { conclude } from '../shared/conclude.ts';
import type { TraceResponseEnd, TraceResponseInput } from './messages.ts';

const activities = proxyActivities<Activities>(traceExport);

/** Sends the trace of an ended response to its space's endpoint. Nothing waits for it. */
export async function traceResponse(input: TraceResponseInput): Promise<TraceResponseEnd> {
  setCurrentDetails('Sending the trace.');
  const end = await send(input);
  setCurrentDetails(`The trace was ${end.status === 'failed' ? 'given_up' : end.status}.`);
  return conclude(end);
}

async function send(input: TraceResponseInput): Promise<TraceResponseEnd> {
  try {
    const { outcome, error = 'refused' } = await activities.exportTrace.executeWithOptions(
      { summary: 'export trace' },
      [input],
    );
    return outcome === 'given_up' ? { status: 'failed', reason: error } : { status: outcome, reason: null };
  } catch (error) {
    if (error instanceof ActivityFailure && !isCancellation(error)) {
      return { status: 'failed', reason: lastErrorOf(error) };
    }
    throw error;
  }
}

/** Error of the last attempt. */
function lastErrorOf({ cause }: ActivityFailure): string {
  return (cause instanceof ApplicationFailure && cause.type) || 'never_reached';
}
