import { hasZodFastifySchemaValidationErrors } from '@fastify/type-provider-zod';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { answerFor, prefersProblem, statusOf, toProblem } from '../errors.ts';
import { nothingAt } from '../present/openai/errors.ts';
import { isDatabaseUnavailable } from '#domain/foundation/persistence/is-unavailable.ts';
import { AllowedMethods, pathOf } from './allowed-methods.ts';
import { fromValidation } from './validation-errors.ts';

export interface ErrorHandling {
  /** Called for each refusal that belongs in the event log. */
  onRefusal(request: FastifyRequest, refusal: DomainError): Promise<void>;
}

/** The single error handler: every thrown error becomes the one error body. */
export function handleErrors(app: FastifyInstance, options: ErrorHandling): void {
  const methods = new AllowedMethods();
  app.addHook('onRoute', (route) => methods.add(route.url, [route.method].flat()));
  app.setErrorHandler(async (error: FastifyError, request, reply) =>
    send(request, reply, await noteFailure(request, error, options)),
  );
  // Runs before the body is parsed: an unknown path or method is reported before an invalid body.
  app.addHook('preParsing', async (request) => {
    const { is404, method, routeOptions } = request;
    if (is404 || methods.fellThrough(routeOptions.url ?? '', method, pathOf(request.url))) {
      throw nowhere(methods, request);
    }
  });
  app.setNotFoundHandler(async (request, reply) => send(request, reply, nowhere(methods, request)));
}

function nowhere(methods: AllowedMethods, { url, method }: { url: string; method: string }): DomainError {
  const allow = methods.at(pathOf(url));
  // A static folder matches every path below it, and has files at a few.
  return allow.length > 0 && !allow.includes(method)
    ? new DomainError('method_not_allowed', 'This path does not take this method.', { allow })
    : new DomainError('route_not_found', nothingAt(url));
}

/** Maps `error` to the caller's error. Logs unexpected errors, and records refusals in the event log. */
export async function noteFailure(
  request: FastifyRequest,
  error: FastifyError,
  options: ErrorHandling,
): Promise<DomainError> {
  const known = translate(error, { body: request.body, maxBytes: request.routeOptions.bodyLimit });
  if (known.code === 'internal_error' && known.detail.responseId === undefined) {
    request.log.error({ error: error.name, code: error.code, frames: frames(error) }, 'unexpected error');
  }
  if (isNoted(known)) {
    await options.onRefusal(request, known).catch((cause: unknown) => {
      request.log.error({ error: cause instanceof Error ? cause.name : 'unknown' }, 'refusal not recorded');
    });
  }
  return known;
}

/**
 * Whether the event log records the refusal: a missing permission, or a limit on running work. The end of a response is
 * already recorded.
 */
function isNoted({ code, detail }: DomainError): boolean {
  if (detail.responseId !== undefined) {
    return false;
  }
  return (statusOf[code].status === 403 && code !== 'tenant_deleting') || detail.reached !== undefined;
}

/** For errors that the framework raises before routing. */
export function answerFrameworkError(
  error: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  void send(request, reply, translate(error));
}

function send(request: FastifyRequest, reply: FastifyReply, error: DomainError): FastifyReply {
  const { status, body } = answerFor(request, error);
  const problem = prefersProblem(request.headers.accept);
  return sendRefusal(request, reply, { error, status })
    .type(problem ? 'application/problem+json' : 'application/json; charset=utf-8')
    .send(problem ? toProblem(body, status) : { error: body });
}

/** Status and headers of an error's answer; the caller of this function sends the body as JSON. */
export function sendRefusal(
  request: FastifyRequest,
  reply: FastifyReply,
  { error, status = statusOf[error.code].status }: { error: DomainError; status?: number },
): FastifyReply {
  const { retryAfter, allow } = error.detail;
  if (retryAfter !== undefined) {
    reply.header('Retry-After', retryAfter);
  }
  if (allow !== undefined) {
    reply.header('Allow', allow.join(', '));
  }
  const mayRepeat = error.detail.mayRepeat ?? (status === 409 ? false : undefined);
  if (mayRepeat !== undefined) {
    reply.header('x-should-retry', String(mayRepeat));
  }
  if (status === 401) {
    reply.header('WWW-Authenticate', 'Bearer error="invalid_token"');
  }
  if (status === 403) {
    const scope = error.detail.requiredPermissions?.join(' ');
    reply.header(
      'WWW-Authenticate',
      `Bearer error="insufficient_scope"${scope === undefined ? '' : `, scope="${scope}"`}`,
    );
  }
  return reply
    .status(status)
    .header('X-Request-Id', request.id)
    .header('Cache-Control', 'no-store')
    .serializer(JSON.stringify);
}

/** `body`: of which the message may repeat a number or a short word; `maxBytes`: of which it may have. */
export function translate(
  error: FastifyError,
  { body, maxBytes }: { body?: unknown; maxBytes?: number | undefined } = {},
): DomainError {
  if (error instanceof DomainError) {
    return error;
  }
  if (hasZodFastifySchemaValidationErrors(error)) {
    return fromValidation(error, body);
  }
  if (isDatabaseUnavailable(error)) {
    return new DomainError(
      'overloaded',
      'The service is busy; try again.',
      { retryAfter: 1 },
      { cause: error },
    );
  }
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new DomainError(
        'payload_too_large',
        maxBytes === undefined
          ? 'The request body is too large.'
          : `The request body must have at most ${maxBytes} bytes.`,
      );
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_ERR_CTP_INVALID_CONTENT_TYPE':
      return new DomainError('unsupported_media_type', 'The body must be application/json.');
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
    case 'FST_ERR_CTP_INVALID_JSON_BODY':
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new DomainError('invalid_request', 'The body is not valid JSON.');
    case 'FST_ERR_BAD_URL':
      return new DomainError('malformed_http', 'The path is not valid.');
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new DomainError('route_not_found', 'There is nothing at this path.');
    case 'FST_STATIC_FORBIDDEN_PATH':
      return new DomainError('route_not_found', 'There is nothing at this path.');
    default:
      return error.statusCode === 400
        ? new DomainError('invalid_request', 'The body is not valid JSON.')
        : new DomainError('internal_error', 'Something went wrong on our side.', {}, { cause: error });
  }
}

function frames(error: Error): string[] {
  return (error.stack ?? '')
    .split('\n')
    .filter((line) => line.trimStart().startsWith('at '))
    .slice(0, 6);
}
