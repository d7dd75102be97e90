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
  const after = retryAfterMs(headers.get('retry-after'), maxPauseMs);
  const isSpent = headers.get('x-ratelimit-remaining') === '0';
  const message = String((Object(body) as { message?: unknown }).message).slice(0, 1_000);
  if (after === null && !isSpent && status !== 429 && !/rate limit|abuse detection/i.test(message)) {
    return null;
  }
  return new SourceFailure('rate_limited', 'GitHub asks for a pause.', {
    retryAfterMs: after ?? (isSpent ? untilReset(headers) : unnamedPauseMs),
  });
}

function untilReset(headers: Headers): number {
  const reset = Number(headers.get('x-ratelimit-reset') ?? Number.NaN) * 1_000 - Date.now();
  return Number.isFinite(reset) ? Math.min(Math.max(reset, 1_000), maxPauseMs) : unnamedPauseMs;
}
