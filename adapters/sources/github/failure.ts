import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { retryAfterMs } from '../../egress/retry-after.ts';

const maxPauseMs = 3_600_000;
/** The service asks for at least this where it names no time. */
const unnamedPauseMs = 60_000;

/** A refusal for too many requests has the status of a missing permission; headers and message tell them apart. */
export function githubFailure(response: Response, body: unknown): SourceFailure | null {
  const { status, headers } = response;
  if (status !== 403 && status !== 429) {
    return null;
  }
  const message = String((Object(body) as { message?: unknown }).message).slice(0, 1_000);
  const isPause = afterOf(headers) !== null || isSpent(headers) || status === 429;
  return isPause || /rate limit|abuse detection/i.test(message)
    ? new SourceFailure('rate_limited', 'GitHub asks for a pause.', { retryAfterMs: pauseOf(headers) })
    : null;
}

/** How long the headers of a refusal ask to wait. */
export function pauseOf(headers: Headers): number {
  return afterOf(headers) ?? (isSpent(headers) ? untilReset(headers) : unnamedPauseMs);
}

function afterOf(headers: Headers): number | null {
  return retryAfterMs(headers.get('retry-after'), maxPauseMs);
}

function isSpent(headers: Headers): boolean {
  return headers.get('x-ratelimit-remaining') === '0';
}

function untilReset(headers: Headers): number {
  const reset = Number(headers.get('x-ratelimit-reset') ?? Number.NaN) * 1_000 - Date.now();
  return Number.isFinite(reset) ? Math.min(Math.max(reset, 1_000), maxPauseMs) : unnamedPauseMs;
}
