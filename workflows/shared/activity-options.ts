import type { ActivityOptions } from '@temporalio/workflow';

/**
 * Named retry classes. A heartbeat timeout means that a worker crashed, and is retried at once and without limit; a
 * permanent failure is thrown as non-retryable.
 */

/** A model turn: bounded by the response's deadline, which the workflow holds. */
export const modelTurn = {
  heartbeatTimeout: '3.5s',
  startToCloseTimeout: '65m',
  retry: { initialInterval: '250ms', backoffCoefficient: 1 },
} satisfies ActivityOptions;

/**
 * A tool call: bounded by the response's deadline as a turn is, so that an outage uses up no attempts. The ledger decides
 * whether a further attempt calls the tool, and how often.
 */
export const toolCall = {
  heartbeatTimeout: '3.5s',
  startToCloseTimeout: '10m',
  retry: { initialInterval: '250ms', backoffCoefficient: 2, maximumInterval: '5s' },
} satisfies ActivityOptions;

/** A short transaction that ends a response, and must succeed. */
export const closing = {
  heartbeatTimeout: '3.5s',
  startToCloseTimeout: '10s',
  retry: { initialInterval: '250ms', backoffCoefficient: 2, maximumInterval: '5s' },
} satisfies ActivityOptions;

/**
 * A round of maintenance. It ends within its budget plus one batch; a slower round sends heartbeats until it has
 * stopped. Work that two attempts could not do is left to a later round.
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
 * Reading a document, and embedding a short one. An unreadable document is a result, so a failure here is one of
 * infrastructure, retried for a day. The activity gives up a document that keeps crashing its worker.
 */
export const extraction = {
  heartbeatTimeout: '10s',
  startToCloseTimeout: '5m',
  scheduleToCloseTimeout: '1d',
  retry: { initialInterval: '500ms', backoffCoefficient: 2, maximumInterval: '30s' },
} satisfies ActivityOptions;

/** Embedding a document while its upload is processed: what a model refuses for minutes is left for later. */
export const documentEmbedding = {
  heartbeatTimeout: '10s',
  startToCloseTimeout: '5m',
  scheduleToCloseTimeout: '10m',
  retry: { initialInterval: '500ms', backoffCoefficient: 2, maximumInterval: '30s' },
} satisfies ActivityOptions;

/** Embedding of a space: it waits for its model for as long as that takes. */
export const spaceEmbedding = {
  heartbeatTimeout: '10s',
  startToCloseTimeout: '5m',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '30s' },
} satisfies ActivityOptions;

/** A step of a connector's actor: short transactions, which must succeed. */
export const connectorStep = {
  heartbeatTimeout: '10s',
  startToCloseTimeout: '1m',
  retry: { initialInterval: '500ms', backoffCoefficient: 2, maximumInterval: '30s' },
} satisfies ActivityOptions;

/**
 * A step of a run at its source. A step that makes progress ends well, so these are attempts without any: about five
 * minutes of an unreachable source. The source's own pauses are obeyed beside that.
 */
export const sourceStep = {
  heartbeatTimeout: '5s',
  startToCloseTimeout: '10m',
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
  retry: { initialInterval: '1s', backoffCoefficient: 2.5, maximumInterval: '2m', maximumAttempts: 8 },
} satisfies ActivityOptions;

/**
 * A watch of a source waits for hours and does nothing, so its heartbeats are few. A lost one begins again on another
 * worker; what the source refuses is a result.
 */
export const sourceWatch = {
  heartbeatTimeout: '30s',
  startToCloseTimeout: '8h',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1m' },
} satisfies ActivityOptions;

/** Tool discovery. An unreachable server is a result; a failure here is one of infrastructure. */
export const toolServer = {
  heartbeatTimeout: '5s',
  startToCloseTimeout: '1m',
  scheduleToCloseTimeout: '1h',
  retry: { initialInterval: '500ms', backoffCoefficient: 2, maximumInterval: '30s' },
} satisfies ActivityOptions;

/** Sending a trace: retried while an endpoint is unavailable for hours, given up after that. */
export const traceExport = {
  heartbeatTimeout: '5s',
  startToCloseTimeout: '30s',
  scheduleToCloseTimeout: '6h',
  retry: { initialInterval: '2s', backoffCoefficient: 3, maximumInterval: '15m' },
} satisfies ActivityOptions;

/** Pages of recipients: short transactions, safe to repeat, and retried until the database accepts them. */
export const fanOut = {
  heartbeatTimeout: '5s',
  startToCloseTimeout: '2m',
  retry: { initialInterval: '250ms', backoffCoefficient: 2, maximumInterval: '30s' },
} satisfies ActivityOptions;

/** Erasing a part of a tenant: it goes on for as long as it sends heartbeats, and must succeed. */
export const scopeErasure = {
  heartbeatTimeout: '10s',
  startToCloseTimeout: '5m',
  retry: { initialInterval: '500ms', backoffCoefficient: 2, maximumInterval: '30s' },
} satisfies ActivityOptions;

const deletionRetry = {
  initialInterval: '500ms',
  backoffCoefficient: 2,
  maximumInterval: '30s',
  maximumAttempts: 20,
  // What an operator has to mend is reported at once.
  nonRetryableErrorTypes: ['verifier_not_configured', 'verifier_blind'],
} satisfies ActivityOptions['retry'];

/** A step of a tenant's deletion, of short transactions. What fails for longer is shown to the operators. */
export const deletionStep = {
  heartbeatTimeout: '10s',
  startToCloseTimeout: '2m',
  scheduleToCloseTimeout: '10m',
  retry: deletionRetry,
} satisfies ActivityOptions;

/** The same for work that grows with the tenant: it goes on for as long as it sends heartbeats. */
export const deletionSlice = {
  heartbeatTimeout: '20s',
  startToCloseTimeout: '30m',
  scheduleToCloseTimeout: '2h',
  retry: deletionRetry,
} satisfies ActivityOptions;

/** The report of a step that cannot be done; it must succeed. */
export const deletionReport = {
  startToCloseTimeout: '10s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '30s' },
} satisfies ActivityOptions;
