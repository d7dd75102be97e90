import { ApplicationFailure } from '@temporalio/common';

/** A retryable failure. Its text is fixed: histories hold no prompt and no answer. */
export function retryLater(type: string, delayMs?: number): ApplicationFailure {
  return ApplicationFailure.create({
    type,
    message: type,
    nonRetryable: false,
    ...(delayMs === undefined ? {} : { nextRetryDelay: delayMs }),
  });
}
