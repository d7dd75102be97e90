/**
 * Queues by latency, not by feature: what a person waits for, everything else that is short, synchronisation that runs
 * for hours, and upkeep, which takes no other queue's place.
 */
export const taskQueues = {
  interactive: 'interactive',
  batch: 'batch',
  synchronisation: 'synchronisation',
  upkeep: 'upkeep',
} as const;

export type TaskQueue = (typeof taskQueues)[keyof typeof taskQueues];
