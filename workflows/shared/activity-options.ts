import type { ActivityOptions } from '@temporalio/workflow';

/**
 * Named retry classes. A heartbeat timeout is a crash of ours, retried at once and without end; what may fail
 * for good says so with a non-retryable failure.
 */

/** A model turn: bounded by the response's deadline, which the workflow holds. */
export const modelTurn = {
  heartbeatTimeout: '3.5s',
  startToCloseTimeout: '65m',
  retry: { initialInterval: '250ms', backoffCoefficient: 1 },
} satisfies ActivityOptions;

/** A tool call. The ledger decides whether a second attempt touches the tool. */
export const toolCall = {
  heartbeatTimeout: '3.5s',
  startToCloseTimeout: '10m',
  retry: { initialInterval: '250ms', backoffCoefficient: 2, maximumInterval: '5s', maximumAttempts: 100 },
} satisfies ActivityOptions;

/** A short transaction that ends a response, and must happen. */
export const closing = {
  heartbeatTimeout: '3.5s',
  startToCloseTimeout: '10s',
  retry: { initialInterval: '250ms', backoffCoefficient: 2, maximumInterval: '5s' },
} satisfies ActivityOptions;

/**
 * A round of upkeep. It ends itself within its budget and a batch; one that does not shows that it lives, until it has
 * stopped. What two attempts could not do is repeated by a later round.
 */
export function sweepRound(budgetSeconds: number) {
  return {
    heartbeatTimeout: '10s',
    startToCloseTimeout: `${budgetSeconds + 660}s`,
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    retry: { maximumAttempts: 2 },
  } satisfies ActivityOptions;
}

/**
 * Reading a document. A document's own fault ends in its row, so what fails here is the machinery: it is
 * tried again for a day. A document that keeps killing its worker is given up by the activity.
 */
export const extraction = {
  heartbeatTimeout: '10s',
  startToCloseTimeout: '3m',
  scheduleToCloseTimeout: '1d',
  retry: { initialInterval: '500ms', backoffCoefficient: 2, maximumInterval: '30s' },
} satisfies ActivityOptions;

/** Asking a tool server what it has. An unreachable one is a result; what fails here is the machinery. */
export const toolServer = {
  heartbeatTimeout: '5s',
  startToCloseTimeout: '1m',
  scheduleToCloseTimeout: '1h',
  retry: { initialInterval: '500ms', backoffCoefficient: 2, maximumInterval: '30s' },
} satisfies ActivityOptions;

/** Sending a trace: an endpoint that is away for hours still gets it, one that stays away does not. */
export const traceExport = {
  heartbeatTimeout: '5s',
  startToCloseTimeout: '30s',
  scheduleToCloseTimeout: '6h',
  retry: { initialInterval: '2s', backoffCoefficient: 3, maximumInterval: '15m' },
} satisfies ActivityOptions;

/** Pages of recipients: short transactions, safe to repeat, and repeated until the database takes them. */
export const fanOut = {
  heartbeatTimeout: '5s',
  startToCloseTimeout: '2m',
  retry: { initialInterval: '250ms', backoffCoefficient: 2, maximumInterval: '30s' },
} satisfies ActivityOptions;
