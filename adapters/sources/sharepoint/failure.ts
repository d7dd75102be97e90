import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { retryAfterMs } from '../../egress/retry-after.ts';

const maxPauseMs = 3_600_000;

/** What statuses mean to Microsoft Graph alone. */
export function graphFailure({ status, headers }: Response): SourceFailure | null {
  if (status === 509) {
    return new SourceFailure('rate_limited', 'The bandwidth of the app at Microsoft Graph is spent.', {
      retryAfterMs: retryAfterMs(headers.get('retry-after'), maxPauseMs),
    });
  }
  return status === 423
    ? new SourceFailure('source_unreachable', 'A site or a file of SharePoint is locked.')
    : null;
}
