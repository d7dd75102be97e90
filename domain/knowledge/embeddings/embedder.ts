import type { EmbeddingModel } from './embedding-model.entity.ts';

/** The port to an embedding model. Its vectors have length 1. */
export interface Embedder {
  /** Identifies model and weights: vectors of different ids are not comparable. */
  id: string;
  dims: number;
  /** Max tokens of one text; longer texts are truncated. */
  maxTokens: number;
  /** Passages for one call, whose vectors are stored together: all of them are embedded again when one fails. */
  passagesPerCall: number;
  /** @throws `EmbeddingFailure`, the signal's reason */
  embedQuery(text: string, signal: AbortSignal): Promise<{ vector: Float32Array; tokens: number }>;
  /** One vector for each text, in their order. @throws `EmbeddingFailure`, the signal's reason */
  embedPassages(
    texts: readonly string[],
    signal: AbortSignal,
  ): Promise<{ vectors: Float32Array[]; tokens: number }>;
}

/** The embedders of a process. */
export interface Embedders {
  of(model: EmbeddingModel): Embedder;
}

export type EmbeddingFailureCode =
  /** Not reachable, late, or not ready. */
  | 'unavailable'
  | 'rate_limited'
  /** Not asked: too many calls of the tenant wait for a vendor, or for a process. */
  | 'busy'
  /** The key, the model's name or the address is refused. */
  | 'refused'
  /** The answer is not one vector of the right dimensions for each text. */
  | 'malformed'
  /** A text has more tokens than the model takes. */
  | 'too_large';

/** The model did not embed. The message holds nothing of the texts, and nothing of a vendor's answer. */
export class EmbeddingFailure extends Error {
  readonly code: EmbeddingFailureCode;
  /** The time that the vendor asks for; null: none. */
  readonly retryAfterMs: number | null;

  constructor(code: EmbeddingFailureCode, retryAfterMs: number | null = null) {
    super(`The embedding model did not answer as expected: ${code}.`);
    this.name = 'EmbeddingFailure';
    this.code = code;
    this.retryAfterMs = retryAfterMs;
  }

  /** Whether the same call may succeed later, without a change of the model's row. */
  get isRetryable(): boolean {
    return this.code === 'unavailable' || this.code === 'rate_limited' || this.code === 'busy';
  }
}
