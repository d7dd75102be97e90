import { STATUS_CODES, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { statusOf, toErrorObject } from '../errors.ts';
import { newRequestId } from './request-id.ts';

/** Answers requests that the HTTP parser refuses, in the one error shape, and closes the connection. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  sendRefusalOn(socket, translate(error.code));
}

/**
 * Refuses requests that Node's server would refuse without an error body: no host, an unknown expectation, a tunnel.
 * Also refuses requests that Node accepts: two hosts, and protocols before HTTP/1.0. Requires `requireHostHeader` off
 * on `app`.
 */
export function rejectOddRequests(app: FastifyInstance): void {
  app.server.on('checkExpectation', ({ socket }: IncomingMessage) =>
    sendRefusalOn(socket, new DomainError('expectation_failed', 'Only Expect: 100-continue is understood.')),
  );
  app.server.on('connect', (_request: IncomingMessage, socket: Duplex) =>
    sendRefusalOn(socket, new DomainError('method_not_allowed', 'This is no proxy.', { allow: [] })),
  );
  app.addHook('onRequest', async ({ raw }, reply) => {
    const hosts = raw.rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host').length;
    if (hosts > 1 || raw.httpVersionMajor < 1 || (hosts === 0 && raw.httpVersion === '1.1')) {
      reply.header('Connection', 'close');
      throw new DomainError('malformed_http', 'The request is not valid HTTP: it must name its host, once.');
    }
  });
}

/** Answers on a connection whose request no handler has. */
export function sendRefusalOn(socket: Duplex, refusal: DomainError): void {
  const { status } = statusOf[refusal.code];
  const { allow } = refusal.detail;
  const requestId = newRequestId();
  const body = JSON.stringify({ error: toErrorObject(refusal, requestId) });
  socket.end(
    [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      `X-Request-Id: ${requestId}`,
      'X-Content-Type-Options: nosniff',
      'Cache-Control: no-store',
      'Connection: close',
      ...(allow === undefined ? [] : [`Allow: ${allow.join(', ')}`]),
      '',
      body,
    ].join('\r\n'),
  );
}

function translate(code: string | undefined): DomainError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new DomainError('headers_too_large', 'The request headers are too large.');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new DomainError('request_timeout', 'The request took too long to arrive.');
    default:
      return new DomainError('malformed_http', 'The request is not valid HTTP.');
  }
}
