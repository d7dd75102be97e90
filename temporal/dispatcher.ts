import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import { claimOutbox, isHeldBack, removeFromOutbox } from '#domain/foundation/durable/outbox.ts';
import type { Dispatcher } from '#domain/foundation/durable/dispatcher.ts';
import type { Dispatch } from '#domain/foundation/durable/messages.ts';
import type { AdaptiveRate } from '#domain/foundation/kernel/adaptive-rate.ts';
import { hitFailpoint } from '#domain/foundation/kernel/failpoint.ts';
import type { Metrics } from '#domain/foundation/kernel/metrics.ts';
import type { Database } from '#domain/foundation/persistence/database.ts';
import { sendCancel, sendSignal, sendStart } from './send-message.ts';

export interface DispatcherDependencies {
  client: Client;
  database: Database;
  metrics: Metrics;
  logger: Logger;
}

/**
 * Starts, signals and cancels workflows from outbox rows; a row is deleted when Temporal has acknowledged it. A signal
 * may be delivered again when a process dies between the two, so it carries the id of its row.
 */
export function createDispatcher(deps: DispatcherDependencies): Dispatcher {
  return {
    async dispatch(row) {
      try {
        hitFailpoint('dispatch.before_start');
        await send(deps, row);
        hitFailpoint('dispatch.after_start');
        await removeFromOutbox(deps.database, row);
        return true;
      } catch (error) {
        // The row remains: a relay sends it again when its lease has expired.
        const name = error instanceof Error ? error.name : 'unknown';
        deps.logger.warn(
          { workflowId: row.workflowId, error: name },
          'dispatch failed, the relay will repeat it',
        );
        const failed = { type: row.workflowType, outcome: 'failed' } as const;
        if (row.kind === 'signal') {
          deps.metrics.workflowSignal(failed);
        } else {
          deps.metrics.workflowStart(failed);
        }
        return false;
      }
    },
  };
}

async function send({ client, metrics }: DispatcherDependencies, row: Dispatch): Promise<void> {
  const type = row.workflowType;
  switch (row.kind) {
    case 'start':
      metrics.workflowStart({ type, outcome: await sendStart(client, row) });
      break;
    case 'signal':
      metrics.workflowSignal({ type, outcome: await sendSignal(client, row, [{ id: row.id }]) });
      break;
    case 'cancel':
      await sendCancel(client, row);
  }
}

/** Max rows of one round of the relay. */
const batch = 50;

/**
 * Polling interval of a relay, in milliseconds. Pending rows need a worker anyway, so a gateway's relay polls less
 * often.
 */
export const relayPauseMs = { worker: 1_000, gateway: 5_000 };

/**
 * Sends pending rows that no dispatcher has sent, without a pause while batches are full. Runs in gateways and workers.
 * Of each tenant's starts it sends as many as `starts` allows in a round, so that none waits behind the queue of another.
 */
export function startRelay(
  deps: DispatcherDependencies,
  dispatcher: Dispatcher,
  { pauseMs, starts }: { pauseMs: number; starts: Pick<AdaptiveRate, 'next'> },
): { stop: () => Promise<void> } {
  const stopped = new AbortController();
  let heldBack = false;
  const run = async () => {
    while (!stopped.signal.aborted) {
      try {
        const allowed = Math.min(starts.next(heldBack), batch);
        const rows = await claimOutbox(deps.database, { rows: batch, starts: allowed });
        if (allowed > 0) heldBack = isHeldBack(rows, allowed);
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
