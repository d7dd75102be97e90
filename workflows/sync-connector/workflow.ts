import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
  sleep,
} from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { syncErrorCodes, type SyncErrorCode } from '#domain/knowledge/connectors/sync-status.ts';
import { closing, sourceStep } from '../shared/activity-options.ts';
import { conclude } from '../shared/conclude.ts';
import type { FinishSyncInput, SyncConnectorEnd, SyncConnectorInput } from './messages.ts';

const source = proxyActivities<Activities>(sourceStep);
const closingStep = proxyActivities<Activities>(closing);

/** One run of a connector: what its source has is stored, what it has no longer is deleted. */
export async function syncConnector(input: SyncConnectorInput): Promise<SyncConnectorEnd> {
  let end: Pick<FinishSyncInput, 'end' | 'errorCode'>;
  let cancellation: unknown = null;
  try {
    end = { end: (await synchronise(input)) ? 'done' : 'cancelled' };
  } catch (error) {
    cancellation = isCancellation(error) ? error : null;
    end = cancellation === null ? { end: 'failed', errorCode: codeOf(error) } : { end: 'cancelled' };
  }
  const finished = await CancellationScope.nonCancellable(() =>
    closingStep.finishSync.executeWithOptions({ summary: `finish: ${end.end}` }, [{ ...input, ...end }]),
  );
  setCurrentDetails(`The run is ${finished.status}.`);
  if (cancellation !== null) {
    throw cancellation;
  }
  return conclude(finished);
}

/** @returns false when the run was ended from outside */
async function synchronise(input: SyncConnectorInput): Promise<boolean> {
  setCurrentDetails('Checking the source.');
  await source.checkSource.executeWithOptions({ summary: 'check the source' }, [input]);
  if (!(await fetchAll(input))) {
    return false;
  }
  setCurrentDetails('Looking for documents that are gone at the source.');
  let after: string | null = null;
  for (let slice = 1; ; slice += 1) {
    const step = await source.detectDeletions.executeWithOptions({ summary: `deletions, slice ${slice}` }, [
      { ...input, after },
    ]);
    if (step.state !== 'more') {
      return step.state === 'done';
    }
    after = step.after;
  }
}

async function fetchAll(input: SyncConnectorInput): Promise<boolean> {
  for (let slice = 1; ; slice += 1) {
    let step;
    try {
      step = await source.fetchPages.executeWithOptions({ summary: `pages, slice ${slice}` }, [input]);
    } catch (error) {
      if (isCancellation(error) || codeOf(error) !== 'cursor_expired') {
        throw error;
      }
      setCurrentDetails('The cursor has expired: the listing begins once more.');
      if (!(await closingStep.restartListing.executeWithOptions({ summary: 'list once more' }, [input]))) {
        throw error;
      }
      continue;
    }
    if (step.state !== 'more') {
      return step.state === 'listed';
    }
    setCurrentDetails(`${step.recordsFetched} documents seen.`);
    if (step.pauseMs !== undefined) {
      setCurrentDetails(
        `${step.recordsFetched} documents seen. The source asks for a pause of ${Math.ceil(step.pauseMs / 1_000)} s.`,
      );
      await sleep(step.pauseMs);
    }
  }
}

function codeOf(error: unknown): SyncErrorCode {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  const type = cause instanceof ApplicationFailure ? cause.type : null;
  return syncErrorCodes.find((code) => code === type) ?? 'internal_error';
}
