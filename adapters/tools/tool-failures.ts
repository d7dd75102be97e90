import { SdkError, SdkErrorCode, UnauthorizedError } from '@modelcontextprotocol/client';
import { ToolServerFailure } from '#domain/capabilities/tools/tool-server.ts';
import { AnswerLimitExceeded } from '../egress/answer-limit-exceeded.ts';
import type { Wire } from './watched-fetch.ts';

/** Reduces a failure to a code: the original may quote arguments, results or a credential. */
export function toServerFailure(error: unknown, wire: Wire): ToolServerFailure {
  if (error instanceof ToolServerFailure) {
    return error;
  }
  const { status, sent, challenge } = wire;
  if (wire.refusedByGuard) {
    return new ToolServerFailure('url_not_allowed', { sent });
  }
  const exceeded = wire.exceeded ?? AnswerLimitExceeded.in(error);
  if (exceeded?.isLate === false) {
    return new ToolServerFailure('too_large', { sent, status });
  }
  if (exceeded !== null) {
    return new ToolServerFailure('timeout', { sent, status });
  }
  // A 403 without a challenge does not concern authentication: no other credential would help.
  if (error instanceof UnauthorizedError || status === 401 || (status === 403 && wire.challenged)) {
    return new ToolServerFailure('unauthorized', { sent, status, challenge });
  }
  if (status !== null && status >= 300) {
    return new ToolServerFailure('http_error', { sent, status });
  }
  if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout) {
    return new ToolServerFailure('timeout', { sent, status });
  }
  return new ToolServerFailure(status === null ? 'unreachable' : 'protocol_error', { sent, status });
}
