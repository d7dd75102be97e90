import { performance } from 'node:perf_hooks';
import { busyTimes } from './busy-times.ts';

/** Share of its time that an event loop is at work, from which on others wait for it. */
const busyFrom = 0.8;

export interface LoopSources {
  /** Of the event loop, between two counts or since its start. */
  utilization: typeof performance.eventLoopUtilization;
  /** Milliseconds of a clock. */
  now: () => number;
}

/** Whether the event loop of this process has had little time to spare of late, also where it has a processor of its own. */
export function busyLoop(
  { utilization, now }: LoopSources = {
    utilization: performance.eventLoopUtilization.bind(performance),
    now: () => performance.now(),
  },
): () => boolean {
  const look = busyTimes({
    count: () => utilization(),
    isBusy: (count, before) => utilization(count, before).utilization >= busyFrom,
    now,
  });
  return () => look().isBusy;
}
