/** Where a sweep stands in the order of its rows: the next round goes on behind it. */
export type Place = readonly string[];

/** One run of a sweep. It ends when nothing is left, when its time is up, or when it is told to stop. */
export interface Round {
  /** Where the round before it stopped; null: at the beginning. */
  readonly place: Place | null;
  /** Asked between two batches, each of which has its own commit. */
  mayGoOn(): boolean;
  /** Everything up to here is seen to, also if this process dies now. */
  reached(place: Place): void;
}

export interface RoundResult {
  /** Rows that the round changed something about. */
  done: number;
  /** Rows that could not be seen to: a later round comes back to them. */
  failed: number;
  /** Where the next round goes on; null when this one came to the end. */
  next: Place | null;
}
