import { randomUUID } from 'node:crypto';

/** Generated here: a caller's own id would let it write into the logs. */
export function newRequestId(): string {
  return `req_${randomUUID().replaceAll('-', '')}`;
}
