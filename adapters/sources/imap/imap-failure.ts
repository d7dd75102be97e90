import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { requestFailure } from '../shared/http-failure.ts';
import { certificateFailure } from '../shared/tls-failure.ts';

const maxPauseMs = 3_600_000;

/** What the client attaches to its errors. */
interface ImapError {
  message: string;
  code?: string;
  authenticationFailed?: boolean;
  responseStatus?: string;
  serverResponseCode?: string;
  throttleReset?: number;
}

const tooLarge = new Set(['LineTooLarge', 'LiteralTooLarge', 'ResponseTooLarge']);

/** Whether the client has ended the connection since an answer was too long for its limits. */
export const exceedsLimits = (error: unknown): boolean => tooLarge.has((error as ImapError).code ?? '');

export const limitFailure = (): SourceFailure =>
  new SourceFailure('source_invalid', 'An answer of the source exceeds its limit of bytes.');

/** The server says more about changes of a mailbox than may be read: everything has to be listed. */
export class ChangesExceedLimits extends SourceFailure {
  constructor() {
    super('source_invalid', 'The changes of a mailbox exceed the limits of an answer.');
  }
}

/** Any error of the client as a `SourceFailure`; an abort of the caller's own signal is passed on as it is. */
export function imapFailure(error: unknown, signal: AbortSignal): unknown {
  if (error instanceof SourceFailure || signal.aborted || !(error instanceof Error)) {
    return error;
  }
  const { code = '', message, authenticationFailed, responseStatus, ...rest } = error as ImapError;
  const fail = (failureCode: SourceFailure['code'], text: string, retryAfterMs: number | null = null) =>
    new SourceFailure(failureCode, text, { cause: error, retryAfterMs });
  const serverCode = rest.serverResponseCode ?? '';
  if (code === 'ETHROTTLE' || serverCode === 'LIMIT') {
    return fail(
      'rate_limited',
      'The mail server asks for a pause.',
      Math.min(rest.throttleReset ?? 0, maxPauseMs) || null,
    );
  }
  if (serverCode === 'UNAVAILABLE' || serverCode === 'SERVERBUG' || serverCode === 'INUSE') {
    return fail('source_unreachable', 'The mail server cannot answer now.');
  }
  if (authenticationFailed === true) {
    return fail('auth_failed', 'The mail server refuses the credential.');
  }
  if (serverCode === 'NOPERM') {
    return fail('auth_failed', 'The mail server refuses access to a mailbox.');
  }
  if (serverCode === 'OVERQUOTA') {
    return fail('quota_exceeded', 'The mail server refuses until a limit is raised.');
  }
  if (message.includes('does not support STARTTLS')) {
    return fail('scope_invalid', 'The mail server does not encrypt connections.');
  }
  if (exceedsLimits(error)) {
    return limitFailure();
  }
  if (responseStatus === 'NO') {
    return fail('scope_invalid', 'The mail server has no such mailbox, or refuses to open it.');
  }
  if (responseStatus === 'BAD') {
    return fail('source_invalid', 'The mail server does not understand a command of its protocol.');
  }
  return certificateFailure(error) ?? requestFailure(error, signal);
}
