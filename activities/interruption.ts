import { Context } from '@temporalio/activity';
import { CancelledFailure } from '@temporalio/common';
import { retryLater } from './failures.ts';

/**
 * Whether Temporal cancelled this attempt for one of `reasons`; by default for any reason except a worker shutdown.
 */
export function isCancelled(reasons?: readonly string[]): boolean {
  const reason: unknown = Context.current().cancellationSignal.reason;
  return (
    reason instanceof CancelledFailure &&
    (reasons?.includes(reason.message) ?? reason.message !== 'WORKER_SHUTDOWN')
  );
}

/** The error of an interrupted attempt: its cancellation, or a retry by another worker. */
export function interruption(): unknown {
  return isCancelled() ? Context.current().cancellationSignal.reason : retryLater('worker_shutdown');
}
