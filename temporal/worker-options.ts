import type { WorkerOptions } from '@temporalio/worker';

/** Settings that decide how fast another worker takes over, shared by all queues. */
export const recoveryOptions = {
  shutdownGraceTime: '1s',
  shutdownForceTime: '20s',
  maxCachedWorkflows: 500,
  stickyQueueScheduleToStartTimeout: '1s',
  maxHeartbeatThrottleInterval: '2s',
  defaultHeartbeatThrottleInterval: '500ms',
} satisfies Partial<WorkerOptions>;

/** A fixed number of slots where people wait. */
export const interactiveOptions = {
  maxConcurrentActivityTaskExecutions: 400,
  maxConcurrentWorkflowTaskExecutions: 40,
} satisfies Partial<WorkerOptions>;

export const batchOptions = {
  maxConcurrentActivityTaskExecutions: 10,
  maxConcurrentWorkflowTaskExecutions: 10,
} satisfies Partial<WorkerOptions>;

/** A place for each of a few sources; it stands idle where nothing is synchronised, so it polls little. */
export const synchronisationOptions = {
  maxConcurrentActivityTaskExecutions: 10,
  maxConcurrentWorkflowTaskExecutions: 4,
  maxConcurrentActivityTaskPolls: 1,
  maxConcurrentWorkflowTaskPolls: 2,
  workflowThreadPoolSize: 1,
} satisfies Partial<WorkerOptions>;

/** A place for each sweep, so that none waits for another; they share few connections of their own. */
export const upkeepOptions = {
  maxConcurrentActivityTaskExecutions: 20,
  maxConcurrentWorkflowTaskExecutions: 4,
  maxConcurrentActivityTaskPolls: 1,
  maxConcurrentWorkflowTaskPolls: 2,
} satisfies Partial<WorkerOptions>;
