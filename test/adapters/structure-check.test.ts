import { expect, it } from 'vitest';
import { misfitOf } from '#adapters/tools/structure-check.ts';

const schema = {
  type: 'object',
  properties: {
    sum: { type: 'number' },
    unit: { enum: ['eur', 'usd'] },
    parts: { type: 'array', items: { type: ['integer', 'null'] } },
  },
  required: ['sum'],
};

it.each<[string, object, string | null]>([
  ['what fits', { structuredContent: { sum: 1, unit: 'eur', parts: [1, null], more: true } }, null],
  ['no structure', { content: [] }, 'missing'],
  ['an error of the tool', { isError: true }, null],
  ['another type', { structuredContent: { sum: 'one' } }, 'different'],
  ['a list', { structuredContent: [1] }, 'different'],
  ['a member that is not there', { structuredContent: {} }, 'different'],
  ['a member of the prototype', { structuredContent: Object.create({ sum: 1 }) as object }, 'different'],
  ['another choice', { structuredContent: { sum: 1, unit: 'yen' } }, 'different'],
  ['another item', { structuredContent: { sum: 1, parts: [1, 2.5] } }, 'different'],
])('%s is reported as a misfit with the schema', (_what, result, misfit) => {
  expect(misfitOf(schema, result as Record<string, unknown>)).toBe(misfit);
});

it('a tool without a schema has no misfits', () => {
  expect(misfitOf(null, {})).toBeNull();
});

it('hostile schemas and results are skipped, in bounded work', () => {
  let deep: object = {};
  let nested: unknown = 1;
  for (let i = 0; i < 100_000; i += 1) {
    deep = { type: 'array', items: deep };
    nested = [nested];
  }
  const wide = Array.from({ length: 100_000 }, () => 'a'.repeat(10));
  let read = 0;
  const counted = new Proxy({}, { get: () => ((read += 1), undefined) });
  for (const [hostile, value] of [
    [deep, nested],
    [{ pattern: '(a+)+$', $ref: '#', anyOf: [{ $ref: '#' }], allOf: wide }, 'a'.repeat(50_000)],
    [{ items: counted }, wide],
    [{ required: wide, enum: wide, properties: { constructor: 1, __proto__: null } }, {}],
  ] as [Record<string, unknown>, unknown][]) {
    expect(() => misfitOf(hostile, { structuredContent: value })).not.toThrow();
  }
  expect(read).toBeLessThan(100_000);
});
