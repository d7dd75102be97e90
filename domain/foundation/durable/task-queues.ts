/**
 * Queues by latency, not by feature: work that a person waits for; other short work; synchronisation that runs for
 * hours; watches, which wait for hours and do nothing; and maintenance, which must not delay the others.
 */
export const taskQueues = {
  interactive: 'interactive',
  batch: 'batch',
  synchronisation: 'synchronisation',
  watches: 'synchronisation-watches',
  upkeep: 'upkeep',
} as const;

export type TaskQueue = (typeof taskQueues)[keyof typeof taskQueues];

/** The queue for the watches of the actors on a queue: `watches` for those of `synchronisation`. */
export function watchQueueOf(queue: string): string {
  return `${queue}-watches`;
}
