/** Queues by latency, not by feature: what a person waits for, and everything else. */
export const taskQueues = { interactive: 'interactive', batch: 'batch' } as const;
