import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { AnswerLimitExceeded } from '../../egress/answer-limit-exceeded.ts';
import { hasCause } from '../../egress/has-cause.ts';
import { EgressRefused } from '../../egress/public-address.ts';
import { retryAfterMs } from '../../egress/retry-after.ts';

/** A source cannot pause its connector for longer. */
const maxPauseMs = 3_600_000;

/** HTTP 403: the credential is accepted, but not for what was asked for. A renewed one would be refused as well. */
export class Forbidden extends SourceFailure {
  constructor(message = 'The source refuses access with HTTP 403.') {
    super('auth_failed', message);
  }
}

/** What a status of 400 or above says about a source; 404 and 410 mean different things to each provider. */
export function statusFailure(response: Response): SourceFailure {
  const { status } = response;
  if (status === 403) {
    return new Forbidden();
  }
  if (status === 401 || status === 407) {
    return new SourceFailure('auth_failed', `The source refuses access with HTTP ${status}.`);
  }
  if (status === 429 || (status === 503 && response.headers.has('retry-after'))) {
    return new SourceFailure('rate_limited', `The source asks for a pause with HTTP ${status}.`, {
      retryAfterMs: retryAfterMs(response.headers.get('retry-after'), maxPauseMs),
    });
  }
  if (status === 402 || status === 507) {
    return new SourceFailure('quota_exceeded', `The source answers HTTP ${status}.`);
  }
  return status >= 500 || status === 408
    ? new SourceFailure('source_unreachable', `The source answers HTTP ${status}.`)
    : new SourceFailure('scope_invalid', `The source answers HTTP ${status}.`);
}

/** Runs requests of a source. @throws SourceFailure and the signal's reason, nothing else */
export async function asSourceFailures<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  try {
    signal.throwIfAborted();
    return await work();
  } catch (error) {
    throw requestFailure(error, signal);
  }
}

/** Any error of a request as a `SourceFailure`; an abort of the caller's own signal is passed on as it is. */
export function requestFailure(error: unknown, signal: AbortSignal): unknown {
  if (error instanceof SourceFailure || signal.aborted) {
    return error;
  }
  if (hasCause(error, (cause) => cause instanceof EgressRefused)) {
    return new SourceFailure('scope_invalid', 'This address may not be reached from here.', { cause: error });
  }
  const exceeded = AnswerLimitExceeded.in(error);
  if (exceeded !== null && !exceeded.isLate) {
    return new SourceFailure('source_invalid', 'An answer of the source exceeds its limit of bytes.', {
      cause: error,
    });
  }
  return new SourceFailure('source_unreachable', 'The source does not answer.', { cause: error });
}
