import { setTimeout as sleep } from 'node:timers/promises';
import type { Client as TemporalClient } from '@temporalio/client';
import type { Client } from 'pg';
import { workflowIdOf } from '#domain/foundation/durable/workflow-types.ts';
import type { StackProcess } from '../support/stack.ts';
import { connect } from '../support/tables.ts';

/** The number of the proto's enumeration. */
const started = 2;

/** A deployment whose workers deliver a tenant's events. */
export interface DeliveryField {
  temporal: TemporalClient;
  adminUrl: string;
  tenantId: string;
}

/** Runs `work` while a worker is in the middle of delivering an event and cannot finish it. */
export async function inMidDelivery<Done>(
  field: DeliveryField,
  workers: readonly StackProcess[],
  work: (worker: StackProcess) => Promise<Done>,
): Promise<Done> {
  const holder = await connect(field.adminUrl);
  try {
    await holder.query('begin');
    // Writes of notifications are blocked; pending ones wait for less than their two seconds.
    await holder.query('lock table notifications in share mode');
    for (let waitedMs = 0; waitedMs < 30_000; waitedMs += 20) {
      const pids = await deliveringWorkers(field, holder);
      const worker = workers.find(({ child }) => child.pid !== undefined && pids.has(child.pid));
      if (worker !== undefined) return await work(worker);
      await sleep(20);
    }
    throw new Error('No worker delivers any event.');
  } finally {
    await holder.end();
  }
}

/** The pids of the delivering workers: Temporal records the identity of the worker that has an activity. */
async function deliveringWorkers(
  { temporal, tenantId }: DeliveryField,
  holder: Client,
): Promise<Set<number>> {
  const { rows } = await holder.query<{ event_id: string }>(
    'select event_id from fan_outs where tenant_id = $1 order by created_at limit 40',
    [tenantId],
  );
  const pids = await Promise.all(
    rows.map(async ({ event_id: eventId }) => {
      const handle = temporal.workflow.getHandle(workflowIdOf('fanOutEvent', { tenantId, eventId }));
      // A pending fan-out may not have been started in Temporal yet.
      const [activity] = (await handle.describe().catch(() => null))?.raw.pendingActivities ?? [];
      return Number(activity?.state) === started
        ? Number.parseInt(activity?.lastWorkerIdentity ?? '', 10)
        : Number.NaN;
    }),
  );
  return new Set(pids);
}
