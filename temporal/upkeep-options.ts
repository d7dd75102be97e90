import type { WorkerOptions } from '@temporalio/worker';
import { sweepNames } from '#domain/operations/maintenance/sweeps.ts';

/** A slot for each sweep, so that no sweep waits for another; all share few connections of their own. */
export const upkeepOptions = {
  maxConcurrentActivityTaskExecutions: sweepNames.length,
  maxConcurrentWorkflowTaskExecutions: 4,
  maxConcurrentActivityTaskPolls: 1,
  maxConcurrentWorkflowTaskPolls: 2,
} satisfies Partial<WorkerOptions>;
