import { readFileSync } from 'node:fs';
import { busyTimes } from './busy-times.ts';

/** Share of its time that an event loop waits for a processor, from which on the machine counts as busy. */
const busyFrom = 0.1;
const nanosecondsPerMs = 1_000_000;

export interface PressureSources {
  /** The kernel's counts of the main thread. */
  statistics: () => string;
  /** Milliseconds of a clock. */
  now: () => number;
}

/**
 * Whether the event loop of this process has lost much time of late, runnable but without a processor: it shares the
 * processors with PostgreSQL, Temporal and others.
 * @returns null where the kernel does not count
 */
export function processorPressure({ statistics, now }: PressureSources = ownSources): () => boolean | null {
  const look = busyTimes({
    count: () => waitedMs(statistics()),
    isBusy: (waited, before, elapsedMs) => (waited - before) / elapsedMs >= busyFrom,
    now,
  });
  return () => {
    const { count, isBusy } = look();
    return Number.isNaN(count) ? null : isBusy;
  };
}

const ownSources: PressureSources = {
  statistics: () => {
    try {
      return readFileSync('/proc/self/schedstat', 'utf8');
    } catch {
      return '';
    }
  },
  now: () => performance.now(),
};

/**
 * The second of three counts: time on a processor, time of waiting for one, and how often it got one. A kernel built
 * without them shows zeros; a process that reads them has been on a processor.
 */
function waitedMs(statistics: string): number {
  const [ran, waited] = statistics.split(' ').map(Number);
  return ran === 0 ? NaN : Number(waited) / nanosecondsPerMs;
}
