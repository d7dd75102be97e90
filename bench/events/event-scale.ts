/** The size of a run. */
export interface EventScale {
  /** Events of each log. */
  sizes: readonly number[];
  rounds: number;
  /** Requests of one measurement. */
  requests: number;
  warmUp: number;
  writers: number;
  /** The minimum duration of one measurement of writes. */
  windowMs: number;
  sealEveryMs: number;
}

export const full: EventScale = {
  sizes: [10_000, 1_000_000, 10_000_000],
  rounds: 7,
  requests: 1_000,
  warmUp: 50,
  writers: 64,
  windowMs: 5_000,
  sealEveryMs: 5_000,
};

/** Every part once: shows that the bench works; the figures mean nothing. */
export const quick: EventScale = {
  sizes: [500, 5_000],
  rounds: 1,
  requests: 10,
  warmUp: 3,
  writers: 8,
  windowMs: 500,
  sealEveryMs: 250,
};
