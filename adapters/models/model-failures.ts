import { APICallError } from '@ai-sdk/provider';
import { ModelFailure } from '#domain/capabilities/models/model-gateway.ts';
import { deniesAccess, toVendorRefusal } from '#domain/capabilities/models/vendor-refusal.ts';
import { AnswerLimitExceeded } from '../egress/answer-limit-exceeded.ts';
import { EgressRefused } from '../egress/guarded-fetch.ts';

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
  return new ModelFailure('model_error', { retryable: !causedBy(error, EgressRefused) });
}

function fromStatus(status: number, error: APICallError): ModelFailure {
  const refusal = toVendorRefusal(status, parsed(error.responseBody));
  const text = `${error.message} ${error.responseBody ?? ''}`;
  if (deniesAccess(refusal)) {
    return new ModelFailure('model_error', { retryable: false, refusal });
  }
  if (status === 429) {
    return new ModelFailure('rate_limited', { retryable: true, refusal, retryAfterMs: retryAfterMs(error) });
  }
  if (status === 408 || status === 504) {
    return new ModelFailure('model_timeout', { retryable: true, refusal });
  }
  if (status >= 500) {
    return new ModelFailure('model_error', { retryable: true, refusal, retryAfterMs: retryAfterMs(error) });
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

/** Seconds or an HTTP date; at most a minute, since a deadline runs. */
function retryAfterMs(error: APICallError): number | null {
  const header = error.responseHeaders?.['retry-after'];
  if (header === undefined) {
    return null;
  }
  const seconds = Number(header);
  const ms = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), 60_000) : null;
}

function causedBy(error: unknown, kind: new () => Error): boolean {
  return error instanceof kind || (error instanceof Error && causedBy(error.cause, kind));
}
