import { performance } from 'node:perf_hooks';

/** Share of its time that an event loop is at work, from which on others wait for it. */
const busyFrom = 0.8;
/** A shorter time says little: several callers share what was seen last. */
const seenForMs = 500;

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
  let seen = { count: utilization(), at: now(), isBusy: false };
  return () => {
    const at = now();
    if (at - seen.at >= seenForMs) {
      const count = utilization();
      seen = { count, at, isBusy: utilization(count, seen.count).utilization >= busyFrom };
    }
    return seen.isBusy;
  };
}
