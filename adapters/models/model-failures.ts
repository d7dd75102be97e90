import { APICallError } from '@ai-sdk/provider';
import { ModelFailure } from '#domain/capabilities/models/model-gateway.ts';
import { deniesAccess, toVendorRefusal } from '#domain/capabilities/models/vendor-refusal.ts';
import { AnswerLimitExceeded } from '../egress/answer-limit-exceeded.ts';
import { EgressRefused } from '../egress/public-address.ts';
import { hasCause } from '../egress/has-cause.ts';
import { retryAfterMs } from '../egress/retry-after.ts';

/** A deadline runs meanwhile. */
const maxDelayMs = 60_000;

/** Reduces a vendor's error to a code: the original carries the prompt and may quote it. */
export function toModelFailure(error: unknown): ModelFailure {
  if (error instanceof ModelFailure) {
    return error;
  }
  const exceeded = AnswerLimitExceeded.in(error);
  if (exceeded !== null) {
    return new ModelFailure(exceeded.isLate ? 'model_timeout' : 'model_error', { retryable: true });
  }
  // A status below 400 does not describe the failure: the stream after it broke.
  if (APICallError.isInstance(error) && error.statusCode !== undefined && error.statusCode >= 400) {
    return fromStatus(error.statusCode, error);
  }
  return new ModelFailure('model_error', {
    retryable: !hasCause(error, (cause) => cause instanceof EgressRefused),
  });
}

function fromStatus(status: number, error: APICallError): ModelFailure {
  const refusal = toVendorRefusal(status, parsed(error.responseBody));
  const delay = retryAfterMs(error.responseHeaders?.['retry-after'], maxDelayMs);
  const text = `${error.message} ${error.responseBody ?? ''}`;
  if (deniesAccess(refusal)) {
    return new ModelFailure('model_error', { retryable: false, refusal });
  }
  if (status === 429) {
    return new ModelFailure('rate_limited', { retryable: true, refusal, retryAfterMs: delay });
  }
  if (status === 408 || status === 504) {
    return new ModelFailure('model_timeout', { retryable: true, refusal });
  }
  if (status >= 500) {
    return new ModelFailure('model_error', { retryable: true, refusal, retryAfterMs: delay });
  }
  if (/context.{0,20}(length|window)|maximum context|too many tokens/i.test(text)) {
    return new ModelFailure('context_length_exceeded', { retryable: false, refusal });
  }
  if (
    status === 400 &&
    /(assistant|prefill)/i.test(text) &&
    /(last|final|trailing|end|prefill)/i.test(text)
  ) {
    return new ModelFailure('trailing_assistant_refused', { retryable: true, refusal, retryAfterMs: 1 });
  }
  return new ModelFailure('model_error', { retryable: false, refusal });
}

function parsed(body: string | undefined): unknown {
  try {
    return JSON.parse(body ?? 'null');
  } catch {
    return null;
  }
}
