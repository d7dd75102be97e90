import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeCursor, encodeCursor, type CursorScope } from '#domain/foundation/kernel/page.ts';
import { Secrets } from '#domain/foundation/kernel/secrets.ts';

const secrets = new Secrets(Buffer.alloc(32, 1).toString('base64'));
const others = new Secrets(Buffer.alloc(32, 2).toString('base64'));
const keyset = fc.record({ createdAt: fc.string(), id: fc.string() });
const scopes: fc.Arbitrary<CursorScope> = fc.record({
  tenantId: fc.uuid(),
  operation: fc.string(),
  filters: fc.dictionary(
    fc.string().filter((name) => name !== '__proto__'),
    fc.option(fc.string()),
  ),
});
const refused = expect.objectContaining({ code: 'invalid_cursor', detail: { param: 'cursor' } });

describe('a cursor', () => {
  it('decodes to the position that it encodes', () => {
    fc.assert(
      fc.property(scopes, keyset, (scope, position) => {
        expect(decodeCursor(secrets, scope, encodeCursor(secrets, scope, position))).toEqual(position);
      }),
    );
  });

  it.each([
    ['tenant', (scope: CursorScope) => ({ ...scope, tenantId: `${scope.tenantId}0` })],
    ['operation', (scope: CursorScope) => ({ ...scope, operation: `${scope.operation}0` })],
    ['filter', (scope: CursorScope) => ({ ...scope, filters: { ...scope.filters, more: 'x'.repeat(99) } })],
  ])('is refused for another %s', (_what, other) => {
    fc.assert(
      fc.property(scopes, keyset, (scope, position) => {
        const cursor = encodeCursor(secrets, scope, position);
        expect(() => decodeCursor(secrets, other(scope), cursor)).toThrow(refused);
      }),
    );
  });

  it('is refused by another deployment, and with any character changed', () => {
    fc.assert(
      fc.property(scopes, keyset, fc.nat(), (scope, position, at) => {
        const cursor = encodeCursor(secrets, scope, position);
        expect(() => decodeCursor(others, scope, cursor)).toThrow(refused);
        const i = at % cursor.length;
        const forged = cursor.slice(0, i) + (cursor[i] === 'A' ? 'Q' : 'A') + cursor.slice(i + 1);
        expect(() => decodeCursor(secrets, scope, forged)).toThrow(refused);
      }),
    );
  });

  it('is refused when it is any other text', () => {
    fc.assert(
      fc.property(scopes, fc.string(), (scope, text) => {
        expect(() => decodeCursor(secrets, scope, text)).toThrow(refused);
      }),
    );
  });
});
