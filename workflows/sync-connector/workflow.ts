import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  continueAsNew,
  isCancellation,
  patched,
  proxyActivities,
  setCurrentDetails,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { syncErrorCodes, type SyncErrorCode } from '#domain/knowledge/connectors/sync-status.ts';
import { closing, sourceStep } from '../shared/activity-options.ts';
import { conclude } from '../shared/conclude.ts';
import type { CheckSourceInput, FinishSyncInput, SyncConnectorEnd, SyncConnectorInput } from './messages.ts';

const source = proxyActivities<Activities>(sourceStep);
const closingStep = proxyActivities<Activities>(closing);

/** The next run of the connector waits meanwhile. */
const cancelPatience = '10 seconds';
/** A longer history is slow to replay; the next execution goes on where this one stopped. */
const maxEvents = 2_000;

/** One run of a connector: what its source has is stored, what it has no longer is deleted. */
export async function syncConnector(input: SyncConnectorInput): Promise<SyncConnectorEnd> {
  let end: Pick<FinishSyncInput, 'end' | 'errorCode'>;
  let cancellation: unknown = null;
  let state: 'more' | 'done' | 'ended';
  try {
    state = await synchronise(input);
    end = { end: state === 'done' ? 'done' : 'cancelled' };
  } catch (error) {
    state = 'ended';
    cancellation = isCancellation(error) ? error : null;
    end = cancellation === null ? { end: 'failed', errorCode: codeOf(error) } : { end: 'cancelled' };
  }
  if (state === 'more') {
    return continueAsNew<typeof syncConnector>(input);
  }
  const finished = await CancellationScope.nonCancellable(() =>
    closingStep.finishSync.executeWithOptions({ summary: `finish: ${end.end}` }, [{ ...input, ...end }]),
  );
  setCurrentDetails(`The run is ${finished.status}.`);
  if (cancellation !== null) {
    throw cancellation;
  }
  return conclude(finished, cancelPatience);
}

/** @returns `ended` when the run was ended from outside, `more` when the history is long */
async function synchronise(input: SyncConnectorInput): Promise<'more' | 'done' | 'ended'> {
  if ((await check(input)) === 'more') {
    return 'more';
  }
  setCurrentDetails('Listing the source.');
  const fetched = await fetchAll(input);
  if (fetched !== 'listed') {
    return fetched;
  }
  setCurrentDetails('Looking for documents that are gone at the source.');
  for (let slice = 1; ; slice += 1) {
    const step = await source.detectDeletions.executeWithOptions({ summary: `deletions, slice ${slice}` }, [
      input,
    ]);
    if (step.state !== 'more') {
      return step.state;
    }
    if (step.pauseMs !== undefined) {
      await pauseFor(step.pauseMs, 'Looking for documents that are gone at the source.');
    }
    if (isLong()) {
      return 'more';
    }
  }
}

async function check(input: SyncConnectorInput): Promise<'more' | 'done'> {
  setCurrentDetails('Checking the source.');
  // The version before goes on after the first step, whatever it says.
  const isInSteps = patched('groups-in-steps');
  const given: CheckSourceInput = isInSteps ? { ...input, inSteps: true } : input;
  for (let slice = 1; ; slice += 1) {
    const summary = slice === 1 ? 'check the source' : `groups, slice ${slice}`;
    const step = await source.checkSource.executeWithOptions({ summary }, [given]);
    // Workers of the version before return no result.
    if (!isInSteps || (step as typeof step | null)?.state !== 'more') {
      return 'done';
    }
    if (step.pauseMs !== undefined) {
      await pauseFor(step.pauseMs, 'Reading the groups of the source.');
    }
    if (isLong()) {
      return 'more';
    }
  }
}

async function fetchAll(input: SyncConnectorInput): Promise<'more' | 'listed' | 'ended'> {
  let isRestarted = false;
  for (let slice = 1; ; slice += 1) {
    let step;
    try {
      step = await source.fetchPages.executeWithOptions({ summary: `pages, slice ${slice}` }, [input]);
    } catch (error) {
      if (isCancellation(error) || codeOf(error) !== 'cursor_expired') {
        throw error;
      }
      setCurrentDetails('The cursor has expired: the listing begins once more.');
      const canBegin = await closingStep.restartListing.executeWithOptions({ summary: 'list once more' }, [
        input,
      ]);
      if (!canBegin || isRestarted) {
        throw error;
      }
      isRestarted = true;
      continue;
    }
    if (step.state !== 'more') {
      return step.state;
    }
    const progress = `${step.recordsFetched} documents seen.`;
    setCurrentDetails(progress);
    if (step.pauseMs !== undefined) {
      await pauseFor(step.pauseMs, progress);
    }
    if (isLong()) {
      return 'more';
    }
  }
}

async function pauseFor(ms: number, progress: string): Promise<void> {
  setCurrentDetails(`${progress} The source asks for a pause of ${Math.ceil(ms / 1_000)} s.`);
  await sleep(ms);
}

function isLong(): boolean {
  const { continueAsNewSuggested, historyLength } = workflowInfo();
  return continueAsNewSuggested || historyLength >= maxEvents;
}

function codeOf(error: unknown): SyncErrorCode {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  const type = cause instanceof ApplicationFailure ? cause.type : null;
  return syncErrorCodes.find((code) => code === type) ?? 'internal_error';
}
