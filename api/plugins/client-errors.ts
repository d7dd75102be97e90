import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { DomainError } from '#domain/kernel/errors.ts';
import { statusOf, toErrorObject } from '../errors.ts';
import { newRequestId } from './request-id.ts';

/** Answers what the HTTP parser itself refuses, in the one error shape, and closes the connection. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const refusal = translate(error.code);
  const { status } = statusOf[refusal.code];
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
