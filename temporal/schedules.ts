import { ScheduleAlreadyRunning, ScheduleOverlapPolicy, type Client } from '@temporalio/client';
import type { Logger } from 'pino';
import { taskQueues } from '#workflows/shared/task-queues.ts';

const reassureEveryMs = 30_000;

/** Sees to the maintenance schedule now and again: a Temporal that lost its storage gets it back. */
export function keepSchedules(
  client: Client,
  options: { everySeconds: number; logger: Logger },
): { stop: () => void } {
  const ensure = () =>
    ensureMaintenance(client, options.everySeconds).catch((error: unknown) => {
      options.logger.warn({ error: error instanceof Error ? error.name : 'unknown' }, 'schedule not ensured');
    });
  void ensure();
  const timer = setInterval(() => void ensure(), reassureEveryMs);
  return { stop: () => clearInterval(timer) };
}

async function ensureMaintenance(client: Client, everySeconds: number): Promise<void> {
  try {
    await client.schedule.create({
      scheduleId: 'maintenance',
      spec: { intervals: [{ every: `${everySeconds}s` }] },
      policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1m' },
      action: {
        type: 'startWorkflow',
        workflowType: 'runMaintenance',
        workflowId: 'maintenance',
        taskQueue: taskQueues.batch,
        workflowExecutionTimeout: '5m',
      },
    });
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) {
      throw error;
    }
  }
}
