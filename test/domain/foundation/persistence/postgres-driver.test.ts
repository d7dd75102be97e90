import { PostgreSqlPlatform } from '@mikro-orm/postgresql';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { quoteLiteral } from '#domain/foundation/persistence/postgres-driver.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(async () => {
  await database?.drop();
});

const text = fc
  .array(fc.oneof(fc.constantFrom("'", '\\', "\\'", '$1', '?', '\n'), fc.string({ unit: 'grapheme' })))
  .map((parts) => parts.join(''));

it('quotes as the ORM does', () => {
  const theirs = new PostgreSqlPlatform();
  fc.assert(
    fc.property(text, (value) => {
      expect(quoteLiteral(value)).toBe(theirs.escape(value));
    }),
  );
});

it('a text comes back from the database as it was', async () => {
  const values = [...fc.sample(text, 50), String.raw`it's \\\ `.repeat(10_000)];
  const rows = await database.unitOfWork.acrossTenants((em) =>
    Promise.all(
      values.map((value) => em.getConnection().execute<{ value: string }[]>('select ? as value', [value])),
    ),
  );
  expect(rows.map(([row]) => row?.value)).toEqual(values);
});

it('a text of a megabyte in a statement costs milliseconds of the event loop', async () => {
  const value = 'Some words. '.repeat(90_000);
  const costs = await database.unitOfWork.acrossTenants(async (em) => {
    const platform = em.getPlatform();
    const flat = () => Buffer.byteLength(platform.formatQuery('select ?, ?', [1, value]));
    // As costly as one pass over the text by character.
    const byCharacter = () => {
      let copy = '';
      for (const character of value) copy += character;
      return Buffer.byteLength(copy);
    };
    const best = (work: () => number) =>
      Math.min(
        ...Array.from({ length: 5 }, () => {
          const before = process.cpuUsage();
          work();
          const { user, system } = process.cpuUsage(before);
          return user + system;
        }),
      );
    return { ours: best(flat), byCharacter: best(byCharacter) };
  });
  expect(costs.ours).toBeLessThan(costs.byCharacter / 3);
});
