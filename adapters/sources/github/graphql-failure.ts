import { z } from 'zod';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { pauseOf } from './failure.ts';

export const graphqlError = z.object({
  type: z.string().nullish(),
  message: z.string().nullish(),
  path: z
    .array(z.union([z.string(), z.number()]))
    .max(100)
    .nullish(),
});
export type GraphqlError = z.output<typeof graphqlError>;

const refused = new Set(['FORBIDDEN', 'INSUFFICIENT_SCOPES', 'UNAUTHENTICATED', 'UNAUTHORIZED']);
const broken = new Set(['INTERNAL', 'SERVICE_UNAVAILABLE', 'MAINTENANCE', 'TIMEOUT']);

/** What errors in an answer of status 200 mean. A pause goes before everything else: the rest may follow from it. */
export function graphqlFailure(errors: readonly GraphqlError[], headers: Headers): SourceFailure {
  const failures = errors.map((each) => failureOf(each, headers));
  const pause = failures.find(({ code }) => code === 'rate_limited');
  return (
    pause ?? failures[0] ?? new SourceFailure('source_invalid', 'GitHub answers an error without a word.')
  );
}

/** Whether the error says that this field, as `repository.discussion`, is not there. */
export function isAbsence({ type, path }: GraphqlError, field: string): boolean {
  return type === 'NOT_FOUND' && path?.join('.') === field;
}

function failureOf({ type, message }: GraphqlError, headers: Headers): SourceFailure {
  const text = message?.slice(0, 1_000) ?? '';
  if (type === 'RATE_LIMITED' || type === 'RATE_LIMIT' || /\brate limit|abuse detection/i.test(text)) {
    return new SourceFailure('rate_limited', 'GitHub asks for a pause.', { retryAfterMs: pauseOf(headers) });
  }
  if (type === 'NOT_FOUND') {
    return new SourceFailure('scope_invalid', 'GitHub does not show a repository of the scope.');
  }
  if (type === 'INVALID_CURSOR_ARGUMENTS') {
    return new SourceFailure('cursor_expired', 'The listing has to begin again.');
  }
  if (refused.has(type ?? '')) {
    return new SourceFailure('auth_failed', 'GitHub does not show discussions to this credential.');
  }
  // Its own failures and timeouts have no type.
  return broken.has(type ?? '') || /something went wrong|in time|timed? ?out|timeout/i.test(text)
    ? new SourceFailure('source_unreachable', 'GitHub reports an error of its own.')
    : new SourceFailure('source_invalid', 'GitHub refuses a query.');
}
