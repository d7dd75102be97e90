import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import type { PendingStep, WorkflowReader } from '#domain/operations/workflows/workflow-reader.ts';
import { isUnknown } from './is-unknown.ts';
import { readHistory } from './read-history.ts';

/** A caller waits for the answer. */
const answerWithinMs = 5_000;

type RawStep = NonNullable<WorkflowExecutionDescription['raw']['pendingActivities']>[number];

/** The numbers of the proto's enumeration. */
const states: Readonly<Record<number, PendingStep['state']>> = {
  1: 'scheduled',
  2: 'started',
  3: 'cancel_requested',
  4: 'paused',
  5: 'cancel_requested',
};

/** @param maxPartBytes of a part of a history; by default 2 MiB */
export function createWorkflowReader(client: Client, maxPartBytes?: number): WorkflowReader {
  return {
    describe: (workflowId) =>
      asked(client, async () => {
        const found = await client.workflow.getHandle(workflowId).describe();
        return {
          runId: found.runId,
          type: found.type,
          status: found.status.name,
          taskQueue: found.taskQueue,
          startedAt: found.startTime,
          closedAt: found.closeTime ?? null,
          historyEvents: found.historyLength,
          pending: (found.raw.pendingActivities ?? []).map(toStep),
        };
      }),
    historyOf: (workflowId, from) =>
      asked(client, async () => {
        const runId = from?.runId ?? (await client.workflow.getHandle(workflowId).describe()).runId;
        return readHistory(client, workflowId, { runId, afterEvent: from?.afterEvent ?? 0 }, maxPartBytes);
      }),
  };
}

async function asked<T>(client: Client, question: () => Promise<T>): Promise<T | null> {
  try {
    return await client.withDeadline(Date.now() + answerWithinMs, question);
  } catch (error) {
    if (isUnknown(error)) {
      return null;
    }
    throw new DomainError(
      'engine_unavailable',
      'Temporal does not answer; try again.',
      { retryAfter: 1 },
      { cause: error },
    );
  }
}

function toStep(step: RawStep): PendingStep {
  const next = step.nextAttemptScheduleTime?.seconds;
  return {
    activity: step.activityType?.name ?? 'unknown',
    state: states[step.state ?? 0] ?? 'unknown',
    attempt: step.attempt ?? 1,
    lastFailure: step.lastFailure?.message ?? null,
    nextAttemptAt: next == null || Number(next) === 0 ? null : new Date(Number(next) * 1_000),
  };
}
