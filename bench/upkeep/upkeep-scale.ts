/** The size of a run. */
export interface UpkeepScale {
  /** Rows whose retention is over. */
  rows: number;
  /** Responses that have not ended. */
  responses: number;
  /** Of one round. */
  budgetSeconds: number;
  /** A round may end a batch late. */
  graceSeconds: number;
  /** Of appends beside a reader, and without one. */
  windows: number;
  windowMs: number;
  writers: number;
}

export const full: UpkeepScale = {
  rows: 10_000_000,
  responses: 20_000,
  budgetSeconds: 20,
  graceSeconds: 5,
  windows: 5,
  windowMs: 4_000,
  writers: 8,
};

/** Every part once: shows that the bench works; the figures mean nothing. */
export const quick: UpkeepScale = {
  rows: 20_000,
  responses: 30,
  budgetSeconds: 0.000_1,
  graceSeconds: 5,
  windows: 1,
  windowMs: 300,
  writers: 2,
};
