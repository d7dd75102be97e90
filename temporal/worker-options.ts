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

/**
 * A fixed number of slots for interactive work. Each open poll costs both sides a request a minute while idle.
 * Pollers of the SDK that scale by themselves cost more: its threads then wake up thirty times a second.
 */
export const interactiveOptions = {
  maxConcurrentActivityTaskExecutions: 400,
  maxConcurrentWorkflowTaskExecutions: 40,
  maxConcurrentActivityTaskPolls: 5,
  maxConcurrentWorkflowTaskPolls: 5,
} satisfies Partial<WorkerOptions>;

export const batchOptions = {
  maxConcurrentActivityTaskExecutions: 10,
  maxConcurrentWorkflowTaskExecutions: 10,
  maxConcurrentActivityTaskPolls: 2,
  maxConcurrentWorkflowTaskPolls: 2,
} satisfies Partial<WorkerOptions>;

/** A slot for each of a few sources; without synchronised sources the queue is idle, so it polls little. */
export const synchronisationOptions = {
  maxConcurrentActivityTaskExecutions: 10,
  maxConcurrentWorkflowTaskExecutions: 4,
  maxConcurrentActivityTaskPolls: 1,
  maxConcurrentWorkflowTaskPolls: 2,
  workflowThreadPoolSize: 1,
} satisfies Partial<WorkerOptions>;

/**
 * Watches of sources wait on many slots, and not on those of synchronisation. The queue has no workflows, one poll, and
 * few heartbeats: a watch costs Temporal a request in ten seconds.
 */
export const watchOptions = {
  maxConcurrentActivityTaskExecutions: 120,
  maxConcurrentActivityTaskPolls: 1,
  maxHeartbeatThrottleInterval: '10s',
  defaultHeartbeatThrottleInterval: '10s',
} satisfies Partial<WorkerOptions>;
