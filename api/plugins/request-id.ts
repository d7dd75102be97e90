import { randomUUID } from 'node:crypto';

/** Ours alone: a caller's own id would let it write into our logs. */
export function newRequestId(): string {
  return `req_${randomUUID().replaceAll('-', '')}`;
}
