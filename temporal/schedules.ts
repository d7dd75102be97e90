import { ScheduleAlreadyRunning, ScheduleOverlapPolicy, type Client } from '@temporalio/client';
import type { Logger } from 'pino';
import { taskQueues } from '#workflows/shared/task-queues.ts';

const reassureEveryMs = 30_000;

/** What runs by the clock: the workflow type of each schedule. */
const workflowTypes = {
  maintenance: 'runMaintenance',
  'seal-events': 'sealEvents',
  'anchor-chains': 'anchorChains',
} as const;
type ScheduleId = keyof typeof workflowTypes;
export const scheduleIds = Object.keys(workflowTypes) as ScheduleId[];

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
      await ensureSchedule(client, 'maintenance', maintenanceSeconds);
      await ensureSchedule(client, 'seal-events', sealSeconds);
      await ensureSchedule(client, 'anchor-chains', anchorSeconds);
    } catch (error) {
      logger.warn({ error: error instanceof Error ? error.name : 'unknown' }, 'schedule not ensured');
    }
  };
  void ensure();
  const timer = setInterval(() => void ensure(), reassureEveryMs);
  return { stop: () => clearInterval(timer) };
}

async function ensureSchedule(client: Client, id: ScheduleId, everySeconds: number): Promise<void> {
  try {
    await client.schedule.create({
      scheduleId: id,
      spec: { intervals: [{ every: `${everySeconds}s` }] },
      policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1m' },
      action: {
        type: 'startWorkflow',
        workflowType: workflowTypes[id],
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
