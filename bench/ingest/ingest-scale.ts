/** The size of a run. */
export interface IngestScale {
  documents: number;
  /** Each round ingests a share of the documents twice: alone, and beside another tenant's responses. */
  rounds: number;
}

export const full: IngestScale = { documents: 1_000, rounds: 5 };

/** Every part once: shows that the bench works; the figures mean nothing. */
export const quick: IngestScale = { documents: 4, rounds: 1 };
