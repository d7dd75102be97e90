/** The size of a run. */
export interface SyncScale {
  /** Documents of each source; a multiple of 100. */
  documents: number;
  /** Bytes of each document. */
  bytes: number;
  /** Objects of the listing that the worker's memory is measured over. */
  listed: number;
}

export const full: SyncScale = { documents: 4_000, bytes: 1_000, listed: 50_000 };

/** Every part once: shows that the bench works; the figures mean nothing. */
export const quick: SyncScale = { documents: 200, bytes: 1_000, listed: 3_000 };
