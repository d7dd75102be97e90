import { availableParallelism, loadavg } from 'node:os';

/**
 * How many times as long as alone something may take just now, on a machine that does other work at the same time: as
 * often as a processor is wanted, at least twice, for the other files of the run, and at most four times.
 */
export const slack = (): number => Math.min(4, Math.max(2, loadavg()[0]! / availableParallelism()));
