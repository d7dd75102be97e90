import {
  ApplicationFailure,
  CancellationScope,
  ChildWorkflowFailure,
  condition,
  continueAsNew,
  isCancellation,
  log,
  patched,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  sleep,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { workflowIdOf } from '#domain/foundation/durable/workflow-types.ts';
import type { Plan } from '#domain/knowledge/connectors/plan-run.ts';
import { connectorStep } from '../shared/activity-options.ts';
import { syncConnector } from '../sync-connector/workflow.ts';
import {
  cancelRunSignal,
  configChangedSignal,
  deletedSignal,
  stateQuery,
  syncRequestedSignal,
  type RunConnectorInput,
} from './messages.ts';
import { SourceWatch } from './source-watch.ts';

const activities = proxyActivities<Activities>(connectorStep);
/** Pause after a run that could not be begun, or that was ended from outside. */
const faultPause = '10s';
/** Timers of a workflow have a limit; a longer wait is planned once more. */
const maxWaitMs = 86_400_000;
/** A run that holds a watch goes on with it; without one it continues as a new run at this length of its history. */
const maxEvents = 1_000;

/**
 * The actor of a connector. The rows say what is to be done; signals say that they have changed. It runs one
 * synchronisation at a time, and continues as a new run after each, so that a new version of it takes over soon. A
 * source that can be watched is watched beside that: its watch outlasts synchronisations, and the run with it.
 */
export async function runConnector(input: RunConnectorInput): Promise<void> {
  let isWoken = false;
  let plan: Plan | null = null;
  let running: { runId: string; scope: CancellationScope } | null = null;
  /** Run that is to be cancelled: the message may come before it has begun here. */
  let cancelled: string | null = null;
  const wake = () => {
    isWoken = true;
  };
  const watch = new SourceWatch(input, wake);
  setHandler(syncRequestedSignal, wake);
  setHandler(configChangedSignal, () => {
    watch.resume();
    wake();
  });
  setHandler(deletedSignal, wake);
  setHandler(cancelRunSignal, (runId) => {
    isWoken = true;
    cancelled = runId;
    if (running?.runId === runId) {
      running.scope.cancel();
    }
  });
  setHandler(stateQuery, () => plan);
  for (;;) {
    isWoken = false;
    plan = await activities.planRun.executeWithOptions({ summary: 'what is next' }, [input]);
    switch (plan.is) {
      case 'ended':
        watch.end();
        setCurrentDetails('The connector is deleted.');
        return;
      case 'deleting':
        watch.end();
        setCurrentDetails('Deleting the connector with its documents.');
        await purge(input);
        return;
      case 'run': {
        const { runId } = plan;
        setCurrentDetails(`Run ${runId} is under way.`);
        const scope = new CancellationScope();
        // A workflow that is cancelled before it has begun would not end the run.
        const byMessage = cancelled === runId;
        const byPlan = plan.isCancelled === true;
        const onBegun = () => {
          if (byMessage ? patched('cancels-a-run-that-begins') : byPlan && patched('cancels-as-planned')) {
            scope.cancel();
          }
        };
        running = { runId, scope };
        await scope.run(() => synchronise(input, runId, onBegun)).catch(ignoreCancel);
        running = null;
        if (!watch.isHeld || workflowInfo().continueAsNewSuggested) {
          await continueAsNew<typeof runConnector>(watch.inputOfNext());
        }
        break;
      }
      case 'waiting': {
        // A plan of a newer version may be in the history of this run's earlier version.
        const isWatched = plan.watch === true && patched('watches-its-source');
        const { historyLength, continueAsNewSuggested } = workflowInfo();
        if (isWatched && (watch.isHeld ? continueAsNewSuggested : historyLength > maxEvents)) {
          await continueAsNew<typeof runConnector>(watch.inputOfNext());
        }
        const pauseMs = isWatched ? watch.begin() : watch.end();
        setCurrentDetails([describeWait(plan), ...watch.describe()].join(' '));
        await wait([plan.waitMs, pauseMs], () => isWoken);
      }
    }
  }
}

/** Waits for a message, or for the first of the times, which are in milliseconds from now; null: none. */
async function wait(times: readonly (number | null)[], isWoken: () => boolean): Promise<void> {
  const waitMs = Math.min(...times.map((ms) => ms ?? Infinity));
  if (waitMs === Infinity) {
    await condition(isWoken);
  } else {
    await condition(isWoken, Math.min(waitMs + 1_000, maxWaitMs));
  }
}

async function synchronise(
  { tenantId, connectorId }: RunConnectorInput,
  runId: string,
  onBegun: () => void,
): Promise<void> {
  try {
    const child = await startChild(syncConnector, {
      workflowId: workflowIdOf('syncConnector', { tenantId, runId }),
      args: [{ tenantId, connectorId, runId }],
      // As for workflows that are started from the outbox; a child's own default is the server's ten seconds.
      workflowTaskTimeout: '2s',
      staticSummary: 'syncConnector',
    });
    onBegun();
    await child.result();
  } catch (error) {
    if (isCancellation(error)) {
      throw error;
    }
    // A failed run has ended its row.
    if (error instanceof ChildWorkflowFailure && error.cause instanceof ApplicationFailure) {
      return;
    }
    // A run that was terminated has not: the next plan takes it up again.
    log.warn('a run of a connector did not end by itself', { runId });
    await sleep(faultPause);
  }
}

async function purge(input: RunConnectorInput): Promise<void> {
  for (let slice = 1; ; slice += 1) {
    const { isGone } = await activities.purgeConnector.executeWithOptions(
      { summary: `delete, slice ${slice}` },
      [input],
    );
    if (isGone) {
      setCurrentDetails('The connector is deleted.');
      return;
    }
  }
}

function ignoreCancel(error: unknown): void {
  if (!isCancellation(error)) {
    throw error;
  }
}

function describeWait({ status, waitMs }: Extract<Plan, { is: 'waiting' }>): string {
  return waitMs === null
    ? `Waits for a message: the connector is ${status}.`
    : `Waits for its schedule: ${Math.ceil(waitMs / 60_000)} minutes.`;
}
