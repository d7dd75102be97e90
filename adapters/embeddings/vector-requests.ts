import type { Inference, InferenceTask } from './inference-thread.ts';

/** Requests to a process that makes and compares vectors. */
export type VectorRequest = { kind: 'infer'; task: InferenceTask } | ListRequest;

export interface ListRequest {
  kind: 'findLists';
  /** As they are stored. */
  vectors: readonly Buffer[];
  /** Number of the lists in the process that asks. */
  number: number;
  /** The lists; null: the process may remember them by their number. */
  given: GivenLists | null;
}

export interface GivenLists {
  /** One after the other. */
  centroids: Float32Array;
  mean: Float32Array;
}

export type FoundLists =
  | { lists: number[] }
  /** The process does not know the number. */
  | { unknown: true }
  /** A vector cannot be read. */
  | { failed: true };

/** The answers, by the kind of the request. */
export interface VectorAnswers {
  infer: Inference;
  findLists: FoundLists;
}
