import type { VectorLists } from './vector-lists.ts';

export interface ListSearch {
  tenantId: string;
  /** As they are stored: differences from `mean`. */
  vectors: readonly Buffer[];
  mean: Float32Array;
  lists: VectorLists;
}

/**
 * Finds the list of each vector, in their order: a thousand vectors take a processor for about a tenth of a second, too
 * long for the event loop.
 * @throws `EmbeddingFailure` when too much other work waits, and the signal's reason
 */
export type FindLists = (search: ListSearch, signal: AbortSignal) => Promise<number[]>;
