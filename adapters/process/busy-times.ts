/** A shorter time says little: several callers share what was seen last. */
const seenForMs = 500;

export interface BusyTimes<Count> {
  /** Grows with time. */
  count: () => Count;
  /** Whether the time between two counts was busy. */
  isBusy: (count: Count, before: Count, elapsedMs: number) => boolean;
  /** Milliseconds of a clock. */
  now: () => number;
}

/** Whether the last half second or more was busy, with its last count. It costs nothing between two calls. */
export function busyTimes<Count>({
  count,
  isBusy,
  now,
}: BusyTimes<Count>): () => { count: Count; isBusy: boolean } {
  let seen = { count: count(), at: now(), isBusy: false };
  return () => {
    const at = now();
    if (at - seen.at >= seenForMs) {
      const counted = count();
      seen = { count: counted, at, isBusy: isBusy(counted, seen.count, at - seen.at) };
    }
    return seen;
  };
}
