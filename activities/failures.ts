import { ApplicationFailure } from '@temporalio/common';

/** A failure that another attempt may mend. Its text is ours alone: histories hold no prompt and no answer. */
export function retryLater(type: string, delayMs?: number): ApplicationFailure {
  return ApplicationFailure.create({
    type,
    message: type,
    nonRetryable: false,
    ...(delayMs === undefined ? {} : { nextRetryDelay: delayMs }),
  });
}
