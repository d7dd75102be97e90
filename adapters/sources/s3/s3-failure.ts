import { SourceFailure, type SourceFailureCode } from '#domain/knowledge/connectors/source.ts';
import { statusFailure } from '../shared/http-failure.ts';

/** What an error of the service says, as far as its status alone would mislead. */
const byName = new Map<string, [SourceFailureCode, string]>([
  ['NoSuchBucket', ['scope_invalid', 'The source has no such bucket.']],
  ['InvalidBucketName', ['scope_invalid', 'The source accepts no such name of a bucket.']],
  ['PermanentRedirect', ['scope_invalid', 'The bucket is at another endpoint or in another region.']],
  ['TemporaryRedirect', ['source_unreachable', 'The source moves the bucket to another endpoint.']],
  ['AuthorizationHeaderMalformed', ['scope_invalid', 'The bucket is in another region than the scope says.']],
  ['InvalidAccessKeyId', ['auth_failed', 'The source does not know the access key.']],
  ['SignatureDoesNotMatch', ['auth_failed', 'The secret of the access key is wrong.']],
  ['ExpiredToken', ['auth_failed', 'The access key has expired.']],
  ['InvalidToken', ['auth_failed', 'The source refuses the access key.']],
  ['RequestTimeTooSkewed', ['auth_failed', 'The clocks of the source and of this platform differ too much.']],
  ['SlowDown', ['rate_limited', 'The source asks for a pause.']],
  ['Throttling', ['rate_limited', 'The source asks for a pause.']],
  ['ThrottlingException', ['rate_limited', 'The source asks for a pause.']],
  ['RequestLimitExceeded', ['rate_limited', 'The source asks for a pause.']],
  ['TooManyRequests', ['rate_limited', 'The source asks for a pause.']],
]);

/** What the SDK attaches to errors of the service. */
interface ServiceError {
  name: string;
  $metadata?: { httpStatusCode?: number };
  $response?: { headers?: Record<string, string> };
}

export interface ServiceAnswer {
  name: string;
  status: number;
  headers: Headers;
}

/** The service's answer behind an error of the SDK; null: there was none, or it could not be parsed. */
export function serviceAnswer(error: unknown): ServiceAnswer | null {
  if (!(error instanceof Error) || error instanceof SourceFailure) {
    return null;
  }
  const { name, $metadata, $response } = error as ServiceError;
  const status = $metadata?.httpStatusCode ?? 0;
  return status < 300 || status > 599 ? null : { name, status, headers: new Headers($response?.headers) };
}

/** Any error of the SDK as a `SourceFailure`; an abort of the caller's own signal is passed on as it is. */
export function s3Failure(error: unknown, signal: AbortSignal): unknown {
  if (error instanceof SourceFailure || signal.aborted) {
    return error;
  }
  const answer = serviceAnswer(error);
  if (answer === null) {
    return new SourceFailure('source_invalid', 'An answer of the source is not the one of an S3 service.', {
      cause: error,
    });
  }
  const { status, headers, name } = answer;
  const general = statusFailure(new Response(null, { status, headers }));
  const [code, message] = byName.get(name) ?? [];
  if (code === undefined || message === undefined) {
    return general;
  }
  return new SourceFailure(code, message, { retryAfterMs: general.retryAfterMs });
}
