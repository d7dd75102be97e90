import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';

/**
 * A retryable failure. Its text is fixed: histories hold no prompt and no answer. The worker logs no warning of it: it is
 * expected, and where it says something of a server, rows or metrics record it.
 */
export function retryLater(type: string, delayMs?: number): ApplicationFailure {
  return ApplicationFailure.create({
    type,
    message: type,
    nonRetryable: false,
    category: ApplicationFailureCategory.BENIGN,
    ...(delayMs === undefined ? {} : { nextRetryDelay: delayMs }),
  });
}
