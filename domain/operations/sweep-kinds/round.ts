/** The position of a sweep in the order of its rows; the next round continues behind it. */
export type Place = readonly string[];

/** One run of a sweep. It ends when no row is left, when its time is up, or when it is asked to stop. */
export interface Round {
  /** Where the previous round stopped; null: at the beginning. */
  readonly place: Place | null;
  /** Checked between two batches, each of which has its own commit. */
  mayGoOn(): boolean;
  /** Reports that all rows up to here are processed, which survives a crash of this process. */
  reached(place: Place): void;
}

export interface RoundResult {
  /** Rows that the round changed. */
  done: number;
  /** Rows that failed: a later round retries them. */
  failed: number;
  /** Some of the tenants whose rows failed, where one tenant's failure holds up others. */
  failedTenants?: readonly string[];
  /** Where the next round continues; null when this one reached the end. */
  next: Place | null;
}
