import { timingSafeEqual } from 'node:crypto';
import { canonicalJson } from './canonical-json.ts';
import { DomainError } from './errors.ts';
import type { Secrets } from './secrets.ts';

/** A keyset page as lists return it. */
export interface Page<T> {
  items: T[];
  nextCursor: string | null;
}

/** The scope of a cursor: another tenant, operation or filter cannot use it. */
export interface CursorScope {
  tenantId: string;
  operation: string;
  filters: Record<string, unknown>;
}

/** The last row's position: creation time (ISO 8601 with microseconds) and id. */
export interface Keyset {
  createdAt: string;
  id: string;
}

export function encodeCursor(secrets: Secrets, scope: CursorScope, keyset: Keyset): string {
  const payload = Buffer.from(JSON.stringify([keyset.createdAt, keyset.id])).toString('base64url');
  return `${payload}.${sign(secrets, scope, payload).toString('base64url')}`;
}

export function decodeCursor(secrets: Secrets, scope: CursorScope, cursor: string): Keyset {
  const [payload = '', mac = ''] = cursor.split('.', 2);
  const expected = sign(secrets, scope, payload);
  const given = Buffer.from(mac, 'base64url');
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
    throw new DomainError('invalid_cursor', 'The cursor was not issued for this list.', { param: 'cursor' });
  }
  const [createdAt, id] = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as [string, string];
  return { createdAt, id };
}

function sign(secrets: Secrets, scope: CursorScope, payload: string): Buffer {
  return secrets.mac('cursor', canonicalJson([scope.tenantId, scope.operation, scope.filters, payload]));
}
