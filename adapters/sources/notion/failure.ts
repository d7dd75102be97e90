import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { retryAfterMs } from '../../egress/retry-after.ts';
import { refusal } from './wire.ts';

const maxPauseMs = 3_600_000;
/** The code of status 529, a status that is in no standard. */
const overloaded = 'service_overload';

/** What the status alone does not say: an overload asks for a pause, and a conflict passes. */
export function notionFailure(response: Response, body: unknown): SourceFailure | null {
  const { status, headers } = response;
  const code = refusal.safeParse(body).data?.code;
  if (status === 529 || code === overloaded) {
    return new SourceFailure('rate_limited', 'Notion is overloaded, and asks for a pause.', {
      retryAfterMs: retryAfterMs(headers.get('retry-after'), maxPauseMs),
    });
  }
  return status === 409
    ? new SourceFailure('source_unreachable', 'Notion reports a conflict with another change.')
    : null;
}
