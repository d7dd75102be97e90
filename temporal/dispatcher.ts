import { setTimeout as sleep } from 'node:timers/promises';
import { WorkflowNotFoundError, type Client, type WorkflowStartOptions } from '@temporalio/client';
import { TypedSearchAttributes, WorkflowIdConflictPolicy, WorkflowIdReusePolicy } from '@temporalio/common';
import type { Logger } from 'pino';
import { claimOutbox, removeFromOutbox } from '#domain/foundation/durable/outbox.ts';
import type { Dispatch, Dispatcher, WorkflowType } from '#domain/foundation/durable/dispatcher.ts';
import { reach } from '#domain/foundation/kernel/failpoint.ts';
import type { Metrics } from '#domain/foundation/kernel/metrics.ts';
import type { Database } from '#domain/foundation/persistence/database.ts';
import { spaceIdAttribute, tenantIdAttribute } from '#workflows/shared/search-attributes.ts';
import { taskQueues } from '#workflows/shared/task-queues.ts';

/**
 * A response is generated once, whatever its workflow's end. A document may be read again under its id, and
 * reading one that has ended changes nothing.
 */
const reuseOf: Readonly<Record<WorkflowType, WorkflowIdReusePolicy>> = {
  generateResponse: WorkflowIdReusePolicy.REJECT_DUPLICATE,
  ingestDocument: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
  // each reading has an id of its own
  discoverTools: WorkflowIdReusePolicy.REJECT_DUPLICATE,
  traceResponse: WorkflowIdReusePolicy.REJECT_DUPLICATE,
  // nobody is told twice, however often it runs
  fanOutEvent: WorkflowIdReusePolicy.ALLOW_DUPLICATE_FAILED_ONLY,
};

const queueOf: Readonly<Record<WorkflowType, string>> = {
  generateResponse: taskQueues.interactive,
  ingestDocument: taskQueues.batch,
  discoverTools: taskQueues.batch,
  traceResponse: taskQueues.batch,
  fanOutEvent: taskQueues.batch,
};

export interface DispatcherDependencies {
  client: Client;
  database: Database;
  metrics: Metrics;
  logger: Logger;
}

/** Starts and cancels workflows from outbox rows; a row goes when Temporal has acknowledged it. */
export function createDispatcher(deps: DispatcherDependencies): Dispatcher {
  return {
    async dispatch(row) {
      try {
        reach('dispatch.before_start');
        await send(deps, row);
        reach('dispatch.after_start');
        await removeFromOutbox(deps.database, row);
      } catch (error) {
        // The row stays: a relay sends it again when its lease has run out.
        const name = error instanceof Error ? error.name : 'unknown';
        deps.logger.warn(
          { workflowId: row.workflowId, error: name },
          'dispatch failed, the relay will repeat it',
        );
        deps.metrics.workflowStart({ type: row.workflowType, outcome: 'failed' });
      }
    },
  };
}

async function send(deps: DispatcherDependencies, row: Dispatch): Promise<void> {
  switch (row.kind) {
    case 'start':
      deps.metrics.workflowStart({ type: row.workflowType, outcome: await start(deps.client, row) });
      break;
    case 'cancel':
      await cancel(deps.client, row.workflowId);
  }
}

/** An id that ran or runs already is success: the row in PostgreSQL is what makes it one. */
async function start(client: Client, row: Dispatch): Promise<'started' | 'existing'> {
  const { payload } = row;
  const options: WorkflowStartOptions = {
    args: [payload],
    taskQueue: queueOf[row.workflowType],
    workflowId: row.workflowId,
    workflowIdReusePolicy: reuseOf[row.workflowType],
    workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
    workflowTaskTimeout: '2s',
    typedSearchAttributes: new TypedSearchAttributes([
      { key: tenantIdAttribute, value: row.tenantId },
      ...(typeof payload.spaceId === 'string' ? [{ key: spaceIdAttribute, value: payload.spaceId }] : []),
    ]),
    priority: { fairnessKey: row.tenantId },
    staticSummary: summaryOf(row),
  };
  try {
    await client.workflow.start(row.workflowType, options);
    return 'started';
  } catch (error) {
    if (error instanceof Error && error.name === 'WorkflowExecutionAlreadyStartedError') {
      return 'existing';
    }
    throw error;
  }
}

function summaryOf(row: Dispatch): string {
  const { model } = row.payload;
  return typeof model === 'string' ? `${row.workflowType} · ${model}` : row.workflowType;
}

async function cancel(client: Client, workflowId: string): Promise<void> {
  try {
    await client.workflow.getHandle(workflowId).cancel();
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) {
      throw error;
    }
  }
}

/** Rows of one round of the relay. */
const batch = 50;

/** How often a relay looks, in milliseconds. What is owed wants a worker anyway, so a gateway's relay may take longer. */
export const relayPauseMs = { worker: 1_000, gateway: 5_000 };

/** Sends what nobody has sent, and without a pause for as long as there is a whole batch of it. Runs in gateway and worker alike. */
export function startRelay(
  deps: DispatcherDependencies,
  dispatcher: Dispatcher,
  pauseMs: number,
): { stop: () => Promise<void> } {
  const stopped = new AbortController();
  const run = async () => {
    while (!stopped.signal.aborted) {
      try {
        const rows = await claimOutbox(deps.database, batch);
        await Promise.all(rows.map((row) => dispatcher.dispatch(row)));
        if (rows.length === batch) {
          continue;
        }
      } catch (error) {
        deps.logger.warn({ error: error instanceof Error ? error.name : 'unknown' }, 'outbox not readable');
      }
      await sleep(pauseMs, undefined, { signal: stopped.signal }).catch(() => undefined);
    }
  };
  const running = run();
  return {
    stop: async () => {
      stopped.abort();
      await running;
    },
  };
}
