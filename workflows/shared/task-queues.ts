/**
 * Queues by latency, not by feature: what a person waits for, everything else, and upkeep, which takes neither's place.
 */
export const taskQueues = { interactive: 'interactive', batch: 'batch', upkeep: 'upkeep' } as const;
