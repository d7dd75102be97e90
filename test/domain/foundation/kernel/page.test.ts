import { randomBytes } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeCursor, encodeCursor, type CursorScope } from '#domain/foundation/kernel/page.ts';
import { Secrets } from '#domain/foundation/kernel/secrets.ts';

const secrets = new Secrets(randomBytes(32).toString('base64'));
const scope: CursorScope = { tenantId: 'tenant-a', operation: 'listThings', filters: { status: ['done'] } };
const keyset = { createdAt: '2026-11-21T12:00:00.123456Z', id: 'thing-7' };
const refusal = expect.objectContaining({ code: 'invalid_cursor' }) as Error;

describe('a cursor', () => {
  it('decodes to the position that it encodes', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (createdAt, id) => {
        const cursor = encodeCursor(secrets, scope, { createdAt, id });
        expect(decodeCursor(secrets, scope, cursor)).toEqual({ createdAt, id });
      }),
    );
  });

  it.each([
    { of: 'another tenant', with: { ...scope, tenantId: 'tenant-b' } },
    { of: 'another operation', with: { ...scope, operation: 'listOthers' } },
    { of: 'another filter', with: { ...scope, filters: { status: ['failed'] } } },
  ])('of $of is refused', ({ with: other }) => {
    const cursor = encodeCursor(secrets, other, keyset);
    expect(() => decodeCursor(secrets, scope, cursor)).toThrow(refusal);
  });

  it('is refused when its position was changed and its signature kept', () => {
    const [, mac] = encodeCursor(secrets, scope, keyset).split('.');
    const payload = Buffer.from(JSON.stringify([keyset.createdAt, 'thing-8'])).toString('base64url');
    expect(() => decodeCursor(secrets, scope, `${payload}.${mac}`)).toThrow(refusal);
  });

  it('is refused when it is any text that was not issued', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(() => decodeCursor(secrets, scope, text)).toThrow(refusal);
      }),
    );
  });
});
