import type { TRPCError } from '@trpc/server';
import { TRPC_ERROR_CODES_BY_KEY, type TRPC_ERROR_CODE_KEY } from '@trpc/server/rpc';
import type { FastifyError } from 'fastify';
import { ZodError } from 'zod';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { statusOf, toErrorObject, type ErrorObject } from '../errors.ts';
import { translate } from '../plugins/error-handling.ts';
import { fromIssues } from '#domain/foundation/validation/from-issues.ts';

/** Envelope of a failed call. `data.error` is the error object of every other operation. */
export interface CallError {
  message: string;
  code: (typeof TRPC_ERROR_CODES_BY_KEY)[TRPC_ERROR_CODE_KEY];
  data: { code: TRPC_ERROR_CODE_KEY; httpStatus: number; error: ErrorObject };
}

const keyOf: Readonly<Record<number, TRPC_ERROR_CODE_KEY>> = {
  400: 'BAD_REQUEST',
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_SUPPORTED',
  409: 'CONFLICT',
  // The protocol has no key of its own for 410.
  410: 'NOT_FOUND',
  413: 'PAYLOAD_TOO_LARGE',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  422: 'UNPROCESSABLE_CONTENT',
  429: 'TOO_MANY_REQUESTS',
  502: 'BAD_GATEWAY',
  503: 'SERVICE_UNAVAILABLE',
};

export function toCallError(error: DomainError, requestId: string): CallError {
  const { status } = statusOf[error.code];
  const code = keyOf[status] ?? 'INTERNAL_SERVER_ERROR';
  const { message } = error;
  return {
    message,
    code: TRPC_ERROR_CODES_BY_KEY[code],
    data: { code, httpStatus: status, error: toErrorObject(error, requestId) },
  };
}

/** Maps a failed call to a domain error. */
export function fromCall(error: TRPCError): DomainError {
  const { cause } = error;
  switch (error.code) {
    case 'BAD_REQUEST':
      return cause instanceof ZodError
        ? fromIssues(cause.issues, 'body')
        : new DomainError('invalid_request', 'The request is not a valid call.');
    case 'NOT_FOUND':
      return new DomainError('route_not_found', 'There is no such procedure.');
    case 'METHOD_NOT_SUPPORTED':
      return new DomainError('method_not_allowed', 'A query takes GET, a mutation takes POST.');
    default:
      return translate((cause ?? error) as FastifyError);
  }
}
