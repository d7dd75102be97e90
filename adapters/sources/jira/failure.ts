import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { retryAfterMs } from '../../egress/retry-after.ts';

const maxPauseMs = 3_600_000;

export function jiraFailure({ status, headers }: Response): SourceFailure | null {
  if (isAnonymous(headers)) {
    return refusedCredential();
  }
  if (status !== 429) {
    return null;
  }
  return new SourceFailure('rate_limited', 'Jira asks for a pause.', {
    retryAfterMs: retryAfterMs(headers.get('retry-after'), maxPauseMs) ?? untilReset(headers),
  });
}

/**
 * Whether the service has refused the credential and has answered all the same: what anonymous people may see, which is
 * mostly nothing.
 */
export function isAnonymous(headers: Headers): boolean {
  return /^AUTHENTICAT(?:ED_FAILED|ION_DENIED)\b/i.test(headers.get('x-seraph-loginreason') ?? '');
}

export function refusedCredential(): SourceFailure {
  return new SourceFailure('auth_failed', 'Jira refuses the credential and answers as to anonymous people.');
}

/** As `2025-01-21T09:15Z`. */
function untilReset(headers: Headers): number | null {
  const reset = Date.parse(headers.get('x-ratelimit-reset') ?? '') - Date.now();
  return Number.isFinite(reset) ? Math.min(Math.max(reset, 1_000), maxPauseMs) : null;
}
