/**
 * Queues by latency, not by feature: work that a person waits for; other short work; synchronisation that runs for
 * hours; and maintenance, which must not delay the others.
 */
export const taskQueues = {
  interactive: 'interactive',
  batch: 'batch',
  synchronisation: 'synchronisation',
  upkeep: 'upkeep',
} as const;

export type TaskQueue = (typeof taskQueues)[keyof typeof taskQueues];
