import { ProtocolError, SdkError, SdkErrorCode, UnauthorizedError } from '@modelcontextprotocol/client';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { challengeIn } from '../../authorization/challenge.ts';
import { AnswerLimitExceeded } from '../../egress/answer-limit-exceeded.ts';
import type { Wire } from '../../tools/watched-fetch.ts';
import { Forbidden, statusFailure } from '../shared/http-failure.ts';
import { ScopeRequired } from '../shared/scope-required.ts';

/** An answer exceeds the bytes that may be read of it. */
export class AnswerTooLarge extends SourceFailure {
  constructor(cause: unknown) {
    super('source_invalid', 'An answer of the tool server exceeds its limit of bytes.', { cause });
  }
}

/** The server refuses what was asked for in a session that it has opened. */
export class RequestRefused extends Forbidden {}

/** The codes with which a server says that it has no such resource: of the earlier and of the later revision. */
const unknownResource = new Set([-32_002, -32_602]);
/**
 * Codes that say nothing of a resource: what was sent is malformed or of another revision, the method is unknown, the
 * server has failed, its time is over, or a person must give consent first.
 */
const ofRequest = new Set([-32_700, -32_600, -32_601, -32_603, -32_001, -32_021, -32_022, -32_042]);
/** Made here for a request whose answer can no longer come. */
const noAnswer = -32_099;
const notAnswered = new Set<string>([
  SdkErrorCode.RequestTimeout,
  SdkErrorCode.ConnectionClosed,
  SdkErrorCode.NotConnected,
  SdkErrorCode.SendFailed,
]);

export function isUnknownResource(error: unknown): boolean {
  return error instanceof ProtocolError && unknownResource.has(error.code);
}

/**
 * Whether a server that answers this to a request for a resource, and does not list it, has none. Many servers give no
 * code that says so: the SDK for Python answers 0 to whatever is thrown.
 * @param failure of `answeredFailure`
 */
export function isRefusedResource(failure: unknown): boolean {
  const { cause } = failure instanceof SourceFailure ? failure : {};
  return cause instanceof ProtocolError && !ofRequest.has(cause.code);
}

/** What the status of an answer says, of 300 or above. */
export function refusalOf(answer: Response): SourceFailure {
  if (answer.status < 400) {
    return new SourceFailure('scope_invalid', 'The tool server redirects: give its final address.');
  }
  return answer.status === 403 ? deniedBy(answer) : statusFailure(answer);
}

/** As for calls of tools: a 403 without a challenge does not concern authentication. */
function deniedBy(answer: Response): SourceFailure {
  const challenge = challengeIn(answer.headers);
  if (challenge?.error === 'insufficient_scope') {
    return new ScopeRequired(challenge.scope);
  }
  return answer.headers.has('www-authenticate')
    ? new SourceFailure('auth_failed', 'The tool server refuses the credential.')
    : new Forbidden('The tool server refuses access with HTTP 403.');
}

interface Seen {
  wire: Wire;
  /** What the status of the last answer says. */
  refusal: SourceFailure | null;
  /** The body of an answer ended before its end. */
  isBroken: boolean;
  signal: AbortSignal;
}

/**
 * What a failed request says about the server. An error that the server itself answers stays a `ProtocolError`, and an
 * abort of the caller's own signal stays what it is.
 */
export function failureOf(error: unknown, { wire, refusal, isBroken, signal }: Seen): unknown {
  if (error instanceof SourceFailure || signal.aborted) {
    return error;
  }
  if (wire.refusedByGuard) {
    return new SourceFailure('scope_invalid', 'This address may not be reached from here.', { cause: error });
  }
  const exceeded = wire.exceeded ?? AnswerLimitExceeded.in(error);
  if (exceeded !== null) {
    return exceeded.isLate ? unreachable(error) : new AnswerTooLarge(error);
  }
  if (error instanceof ProtocolError) {
    return error.code === noAnswer ? unreachable(error) : error;
  }
  if (refusal !== null) {
    return refusal;
  }
  if (error instanceof UnauthorizedError) {
    return new SourceFailure('auth_failed', 'The tool server refuses the credential.', { cause: error });
  }
  const isSilent =
    isBroken || wire.status === null || (error instanceof SdkError && notAnswered.has(error.code));
  return isSilent
    ? unreachable(error)
    : new SourceFailure('source_invalid', 'The tool server does not answer as its protocol demands.', {
        cause: error,
      });
}

/** An error that the server answers to a request, as what it means for a run. */
export function answeredFailure(error: unknown): unknown {
  if (!(error instanceof ProtocolError)) {
    return error;
  }
  return error.code === -32_601
    ? new SourceFailure('scope_invalid', 'The tool server offers no resources.', { cause: error })
    : new SourceFailure('source_unreachable', 'The tool server answers with an error.', { cause: error });
}

function unreachable(cause: unknown): SourceFailure {
  return new SourceFailure('source_unreachable', 'The tool server does not answer.', { cause });
}
