export type { EraseScopeInput } from '#domain/foundation/durable/workflow-inputs.ts';

export interface EraseScopeSlice {
  /** Nothing is left of the root. */
  isGone: boolean;
  /** Rows that this slice erased. */
  rows: number;
}

export interface EraseScopeResult {
  /** Rows that this run erased. */
  rows: number;
}
