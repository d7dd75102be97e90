import { availableParallelism, loadavg } from 'node:os';

/**
 * The allowed slowdown on a machine that does other work at the same time: the ratio of demand to processors,
 * at least two, for the other files of the run, and at most four.
 */
export const slack = (): number => Math.min(4, Math.max(2, loadavg()[0]! / availableParallelism()));
