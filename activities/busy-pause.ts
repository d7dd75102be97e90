const maxPauseMs = 120_000;

/** The pause before an attempt that found no place. It grows from attempt to attempt, with jitter: hundreds may wait. */
export const busyPauseMs = (attempt: number): number =>
  Math.round(Math.min(1_000 * 2 ** (attempt - 1), maxPauseMs) * (0.75 + Math.random() / 2));
