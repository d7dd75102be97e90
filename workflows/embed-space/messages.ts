export type { EmbedSpaceInput } from '#domain/foundation/durable/workflow-inputs.ts';

export interface EmbedSpaceResult {
  /** `more`: its time was up; `idle`: every document has its vectors. */
  state: 'more' | 'idle';
}

export interface EmbedSpaceEnd {
  status: 'completed';
  reason: null;
}
