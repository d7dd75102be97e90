import { SourceFailure, type SourceFailureCode } from '#domain/knowledge/connectors/source.ts';

const meanings: readonly [SourceFailureCode, string, readonly string[]][] = [
  [
    'auth_failed',
    'Slack refuses the token, or it lacks a permission.',
    [
      'not_authed',
      'invalid_auth',
      'account_inactive',
      'token_revoked',
      'token_expired',
      'no_permission',
      'missing_scope',
      'not_allowed_token_type',
      'org_login_required',
      'ekm_access_denied',
      'enterprise_is_restricted',
      'access_denied',
      'two_factor_setup_required',
      'team_access_not_granted',
    ],
  ],
  [
    'scope_invalid',
    'A channel does not exist, or the app is no member of it.',
    ['channel_not_found', 'not_in_channel', 'method_not_supported_for_channel_type', 'invalid_arguments'],
  ],
  ['rate_limited', 'Slack asks for a pause.', ['ratelimited', 'rate_limited', 'accesslimited']],
  [
    'cursor_expired',
    'The listing has to begin again.',
    ['invalid_cursor', 'invalid_ts_latest', 'invalid_ts_oldest'],
  ],
  [
    'source_unreachable',
    'Slack reports an error of its own.',
    ['internal_error', 'fatal_error', 'request_timeout', 'service_unavailable', 'team_added_to_org'],
  ],
];
const byError = new Map(
  meanings.flatMap(([code, says, errors]) => errors.map((error) => [error, { code, says }] as const)),
);
/** Where Slack names no time. */
const unnamedPauseMs = 60_000;

/** Slack answers errors with status 200. */
export class SlackError extends SourceFailure {
  /** Its name at Slack. */
  readonly error: string;

  constructor(error: string) {
    const { code, says } = byError.get(error) ?? {
      code: 'source_invalid',
      says: 'Slack answers an unknown error.',
    };
    super(code, says, { retryAfterMs: code === 'rate_limited' ? unnamedPauseMs : null });
    this.error = error;
  }
}

const absent = new Set(['thread_not_found', 'message_not_found', 'channel_not_found']);

/** What is asked for is not there. */
export function isAbsent(error: unknown): boolean {
  return error instanceof SlackError && absent.has(error.error);
}

export function isNotInChannel(error: unknown): boolean {
  return error instanceof SlackError && error.error === 'not_in_channel';
}
