import { DomainError, type DomainErrorCode } from '#domain/foundation/kernel/errors.ts';
import type { ResponseRecord } from '#domain/responses/record/response-record.ts';
import type { FailureReason } from '#domain/responses/record/response-status.ts';

/** Seconds after which a vendor that has asked for patience five times may be asked again. */
const patience = 5;

/**
 * The error that a client of OpenAI's is answered when the response that it waited for has failed or was cancelled:
 * it takes whatever comes with 200 for the answer. null for any other end.
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
 * What is said of a response that goes on while its caller can wait no longer, since a part with 200 would be taken for
 * the whole. Only a request with a key may be sent again: it comes to the same response.
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

/** Whether a tool of a server was called: another response would call it once more. */
function actedOutside({ output }: ResponseRecord): boolean {
  return output.some(({ type }) => type === 'mcp_call');
}
