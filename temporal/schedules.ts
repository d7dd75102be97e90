import { ScheduleAlreadyRunning, ScheduleOverlapPolicy, type Client } from '@temporalio/client';
import type { Logger } from 'pino';
import { taskQueues } from '#workflows/shared/task-queues.ts';

const reassureEveryMs = 30_000;

export interface ScheduleIntervals {
  maintenanceSeconds: number;
  sealSeconds: number;
  anchorSeconds: number;
}

/** Sees to the schedules now and again: a Temporal that lost its storage gets them back. */
export function keepSchedules(
  client: Client,
  options: ScheduleIntervals & { logger: Logger },
): { stop: () => void } {
  const { maintenanceSeconds, sealSeconds, anchorSeconds, logger } = options;
  const ensure = async () => {
    try {
      await ensureSchedule(client, { id: 'maintenance', type: 'runMaintenance', every: maintenanceSeconds });
      await ensureSchedule(client, { id: 'seal-events', type: 'sealEvents', every: sealSeconds });
      await ensureSchedule(client, { id: 'anchor-chains', type: 'anchorChains', every: anchorSeconds });
    } catch (error) {
      logger.warn({ error: error instanceof Error ? error.name : 'unknown' }, 'schedule not ensured');
    }
  };
  void ensure();
  const timer = setInterval(() => void ensure(), reassureEveryMs);
  return { stop: () => clearInterval(timer) };
}

/** @param schedule its interval is in seconds */
async function ensureSchedule(
  client: Client,
  { id, type, every }: { id: string; type: string; every: number },
): Promise<void> {
  try {
    await client.schedule.create({
      scheduleId: id,
      spec: { intervals: [{ every: `${every}s` }] },
      policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1m' },
      action: {
        type: 'startWorkflow',
        workflowType: type,
        workflowId: id,
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
