import { z } from 'zod';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { retryAfterMs } from '../../egress/retry-after.ts';
import { Forbidden } from '../shared/http-failure.ts';
import { TooLong } from '../shared/json-api.ts';

const maxPauseMs = 3_600_000;
/** Limits are counted by the minute. */
const unnamedPauseMs = 60_000;

const pauses = new Set(['rateLimitExceeded', 'userRateLimitExceeded', 'sharingRateLimitExceeded']);
const spent = new Set(['dailyLimitExceeded', 'dailyLimitExceededUnreg', 'quotaExceeded']);
/** The token may not read files at all. */
const withoutScope = new Set(['insufficientPermissions', 'insufficientScopes']);

/** The service refuses one file, not the credential. */
export class FileRefused extends Forbidden {
  readonly isTooLarge: boolean;

  constructor(isTooLarge: boolean) {
    super('Google Drive does not give out a file.');
    this.isTooLarge = isTooLarge;
  }
}

export function isTooLarge(error: unknown): boolean {
  return error instanceof TooLong || (error instanceof FileRefused && error.isTooLarge);
}

const errorBody = z.object({
  error: z.object({
    errors: z
      .array(z.object({ reason: z.string() }))
      .min(1)
      .max(100),
  }),
});

/** The reason tells refusals of status 403 apart. */
export function driveFailure(response: Response, body: unknown): SourceFailure | null {
  const reason = reasonOf(body);
  if (response.status === 403 && pauses.has(reason)) {
    const named = retryAfterMs(response.headers.get('retry-after'), maxPauseMs);
    return new SourceFailure('rate_limited', 'Google Drive asks for a pause.', {
      retryAfterMs: named ?? unnamedPauseMs,
    });
  }
  return response.status === 403 && spent.has(reason)
    ? new SourceFailure('quota_exceeded', 'The daily limit of Google Drive is spent.')
    : null;
}

/**
 * The same for a request that concerns one file. Reasons for which a file is refused are many, such as policies of its
 * organisation, and not all are documented.
 */
export function fileFailure(response: Response, body: unknown): SourceFailure | null {
  const general = driveFailure(response, body);
  const reason = reasonOf(body);
  return general === null && response.status === 403 && !withoutScope.has(reason)
    ? new FileRefused(reason === 'exportSizeLimitExceeded')
    : general;
}

function reasonOf(body: unknown): string {
  const parsed = errorBody.safeParse(body);
  return parsed.success ? (parsed.data.error.errors[0]?.reason ?? '') : '';
}
