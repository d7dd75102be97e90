import { EgressRefused } from './public-address.ts';

/**
 * System calls that fail before a connection is established: no byte of the request was sent. Error codes do not decide
 * this, since an established connection may also end with ETIMEDOUT or EHOSTUNREACH.
 */
const beforeConnection = new Set(['connect', 'getaddrinfo', 'queryA', 'queryAaaa']);

/** Whether a cause of a failed fetch says that no byte of the request was sent. */
export function isNeverSent(error: Error): boolean {
  return (
    error instanceof EgressRefused ||
    ('code' in error && error.code === 'UND_ERR_CONNECT_TIMEOUT') ||
    ('syscall' in error && beforeConnection.has(String(error.syscall)))
  );
}
