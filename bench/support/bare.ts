import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';

export const bareQueue = 'bare';

/** Runs one bare workflow to its end. @returns its id */
export async function runBare(client: Client, rounds: number): Promise<string> {
  const workflowId = `bare/${randomUUID()}`;
  await client.workflow.execute('bareLoop', {
    workflowId,
    taskQueue: bareQueue,
    workflowTaskTimeout: '2s',
    args: [rounds],
  });
  return workflowId;
}

/** How many activities its history schedules. */
export async function activitiesOf(client: Client, workflowId: string): Promise<number> {
  const { events } = await client.workflow.getHandle(workflowId).fetchHistory();
  return (events ?? []).filter((event) => event.activityTaskScheduledEventAttributes != null).length;
}
