import { deniesAccess, toVendorRefusal } from '#domain/capabilities/models/vendor-refusal.ts';
import { ModelFailure } from '#domain/capabilities/models/model-gateway.ts';
import { EmbeddingFailure } from '#domain/knowledge/embeddings/embedder.ts';
import { AnswerLimitExceeded } from '../egress/answer-limit-exceeded.ts';
import { EgressRefused } from '../egress/public-address.ts';
import { hasCause } from '../egress/has-cause.ts';
import { retryAfterMs } from '../egress/retry-after.ts';

/** An answer of status 200 that cannot be read as vectors. */
export class UnreadableAnswer extends Error {}

/** Reduces an error to a code: the original may quote a text or a key. */
export function toEmbeddingFailure(error: unknown): EmbeddingFailure {
  if (error instanceof EmbeddingFailure) {
    return error;
  }
  const exceeded = AnswerLimitExceeded.in(error);
  if (exceeded !== null) {
    return new EmbeddingFailure(exceeded.isLate ? 'unavailable' : 'malformed');
  }
  if (error instanceof UnreadableAnswer) {
    return new EmbeddingFailure('malformed');
  }
  if (error instanceof ModelFailure) {
    // Of the stored credential.
    return new EmbeddingFailure(error.retryable ? 'unavailable' : 'refused');
  }
  return new EmbeddingFailure(
    hasCause(error, (cause) => cause instanceof EgressRefused) ? 'refused' : 'unavailable',
  );
}

/** Reads no more of an error answer than its bounded beginning. */
export async function failureOfStatus(answer: Response): Promise<EmbeddingFailure> {
  const { status } = answer;
  const text = await answer.text().catch(() => '');
  const refusal = toVendorRefusal(status, parsed(text));
  if (deniesAccess(refusal)) {
    return new EmbeddingFailure('refused');
  }
  if (status === 429 || status === 503) {
    const code = status === 429 ? 'rate_limited' : 'unavailable';
    return new EmbeddingFailure(code, retryAfterMs(answer.headers.get('retry-after'), maxRetryAfterMs));
  }
  if (status === 408 || status >= 500) {
    return new EmbeddingFailure('unavailable');
  }
  const isTooLarge =
    status === 413 || /context.{0,20}(length|window)|maximum.{0,40}tokens|too (many tokens|long)/i.test(text);
  return new EmbeddingFailure(isTooLarge ? 'too_large' : 'refused');
}

const maxRetryAfterMs = 900_000;

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
