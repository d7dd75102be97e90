import { DomainError, type DomainErrorCode } from '#domain/foundation/kernel/errors.ts';
import type { ResponseRecord } from '#domain/responses/record/response-record.ts';
import type { FailureReason } from '#domain/responses/record/response-status.ts';

/** Retry delay, in seconds, after a vendor has rate limited five attempts. */
const patience = 5;

/**
 * The error for a client of OpenAI that waited for a response that failed or was cancelled, since the client treats
 * every 200 as the answer. null for any other end.
 */
export function failureOf(record: ResponseRecord): DomainError | null {
  const { id: responseId, status, platform } = record;
  if (status === 'cancelled') {
    const message = 'This response was cancelled before its end.';
    return new DomainError('response_cancelled', message, { responseId, mayRepeat: false });
  }
  const reason = status === 'failed' ? platform.failure_reason : null;
  if (reason === null) {
    return null;
  }
  const code = codeOf(reason);
  return new DomainError(code, reason.message, {
    responseId,
    ...(reason.param === null ? {} : { param: reason.param }),
    ...(code === 'rate_limited' ? { retryAfter: patience } : {}),
    mayRepeat: isPassing(reason) && !actedOutside(record),
  });
}

/**
 * The error for a caller whose wait ends while the response continues, since a partial answer with 200 would pass for
 * the whole. A request with an idempotency key may be retried: it reaches the same response.
 */
export function unfinished(
  { id: responseId }: ResponseRecord,
  { draining, hasKey }: { draining: boolean; hasKey: boolean },
): DomainError {
  return new DomainError(
    draining ? 'draining' : 'overloaded',
    'The response goes on, but this process cannot wait for its end; read it by its id.',
    { responseId, retryAfter: 1, mayRepeat: hasKey },
  );
}

function codeOf({ code, type }: FailureReason): DomainErrorCode {
  return code === 'model_error' && type === 'invalid_request_error' ? 'model_request_refused' : code;
}

function isPassing({ code, type }: FailureReason): boolean {
  return code !== 'tool_outcome_unknown' && (type === 'server_error' || type === 'rate_limit_error');
}

/** Whether a server's tool was called: a new response would call it again. */
function actedOutside({ output }: ResponseRecord): boolean {
  return output.some(({ type }) => type === 'mcp_call');
}
