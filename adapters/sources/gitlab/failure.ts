import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { retryAfterMs } from '../../egress/retry-after.ts';

const maxPauseMs = 3_600_000;

/** Limits of single endpoints name the time of their end without `Retry-After`. */
export function gitlabFailure({ status, headers }: Response): SourceFailure | null {
  if (status !== 429) {
    return null;
  }
  return new SourceFailure('rate_limited', 'GitLab asks for a pause.', {
    retryAfterMs: retryAfterMs(headers.get('retry-after'), maxPauseMs) ?? untilReset(headers),
  });
}

function untilReset(headers: Headers): number | null {
  const reset = Number(headers.get('ratelimit-reset') ?? Number.NaN) * 1_000 - Date.now();
  return Number.isFinite(reset) ? Math.min(Math.max(reset, 1_000), maxPauseMs) : null;
}
