import { Context } from '@temporalio/activity';
import { CancelledFailure } from '@temporalio/common';
import { retryLater } from './failures.ts';

/** Whether Temporal ended this attempt, for one of `reasons`, or for any but that its worker is asked to go. */
export function isCancelled(reasons?: readonly string[]): boolean {
  const reason: unknown = Context.current().cancellationSignal.reason;
  return (
    reason instanceof CancelledFailure &&
    (reasons?.includes(reason.message) ?? reason.message !== 'WORKER_SHUTDOWN')
  );
}

/** What an attempt that was interrupted throws: its cancellation, or that another worker takes it up. */
export function interruption(): unknown {
  return isCancelled() ? Context.current().cancellationSignal.reason : retryLater('worker_shutdown');
}
