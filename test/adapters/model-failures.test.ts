import { APICallError } from '@ai-sdk/provider';
import { expect, it } from 'vitest';
import { toModelFailure } from '#adapters/models/model-failures.ts';

const canary = 'sk-canary';

/** A vendor's error as the packages throw it. */
const answered = (statusCode: number, error: object, responseHeaders = {}) =>
  toModelFailure(
    new APICallError({
      message: `Refused for ${canary}`,
      url: 'https://vendor.test',
      requestBodyValues: { prompt: canary },
      statusCode,
      responseHeaders,
      responseBody: JSON.stringify({ error: { message: canary, ...error } }),
    }),
  );

it.each([
  [400, { code: 'unsupported_value', param: 'temperature' }, 'unsupported_value', 'temperature'],
  [
    400,
    { code: null, type: 'invalid_request_error', param: 'max_tokens' },
    'invalid_request_error',
    'max_output_tokens',
  ],
  [
    400,
    { code: 'invalid_function_parameters', param: 'tools[0].function.parameters' },
    'invalid_function_parameters',
    'tools',
  ],
  [400, { code: 400, status: 'INVALID_ARGUMENT' }, 'INVALID_ARGUMENT', null],
  [422, { code: canary, type: canary, param: canary }, null, null],
  [400, { code: { toString: canary }, param: [canary] }, null, null],
] as const)('a vendor’s %i with %o is described by codes of our lists only', (status, said, code, param) => {
  const failure = answered(status, said);
  expect(failure).toMatchObject({ code: 'model_error', retryable: false, refusal: { status, code, param } });
  expect(JSON.stringify(failure) + failure.message).not.toContain('canary');
});

it.each([
  [401, 'invalid_api_key'],
  [403, 'permission_error'],
  [404, 'model_not_found'],
  [429, 'insufficient_quota'],
])('a vendor’s %i %s is not retried', (status, code) => {
  expect(answered(status, { code })).toMatchObject({ code: 'model_error', retryable: false });
});

it('a vendor’s ordinary 429 is retried', () => {
  const failure = answered(429, { code: 'rate_limit_exceeded' }, { 'retry-after': '3' });
  expect(failure).toMatchObject({ code: 'rate_limited', retryable: true, retryAfterMs: 3_000 });
});
