import { expect, it } from 'vitest';
import { pathFilter } from '#adapters/sources/shared/path-filter.ts';
import { expectLinear } from '#test/support/growth.ts';

const accepts = (pattern: string, path: string) =>
  pathFilter({ include: [pattern], exclude: [] }).accepts(path);

it.each([
  ['**', 'a/b/c.md', true],
  ['**/*.md', 'a.md', true],
  ['**/*.md', 'a/b.md', true],
  ['**/*.md', 'a/b.txt', false],
  ['*.md', 'a/b.md', false],
  ['a/**', 'a', true],
  ['a/**', 'a/b/c', true],
  ['a/**', 'ab/c', false],
  ['a/**/z', 'a/z', true],
  ['a/**/z', 'a/b/c/z', true],
  ['a/**/z', 'a/b/c/y', false],
  ['**/b/**/d', 'a/b/c/b/d', true],
  ['a?c', 'abc', true],
  ['a?c', 'a/c', false],
  ['*a*b*', 'xxaxxbxx', true],
  ['*a*b', 'aab', true],
  ['*a*b', 'aba', false],
  ['/docs/**', '/docs/a/', true],
  ['/docs/*', '/docs/a', true],
  ['docs/*', '/docs/a', true],
  ['caf\u00e9.md', 'cafe\u0301.md', true],
  ['A.md', 'a.md', false],
  ['[ab].md', 'a.md', false],
  ['***', 'abc', true],
])('the pattern %s decides about %s: %s', (pattern, path, expected) => {
  expect(accepts(pattern, path)).toBe(expected);
});

it('leaves out what exclude names', () => {
  const filter = pathFilter({ include: ['**/*.md'], exclude: ['drafts/**', '**/.*'] });
  expect(filter.accepts('a.md')).toBe(true);
  expect(filter.accepts('drafts/a.md')).toBe(false);
  expect(filter.excludes('drafts')).toBe(true);
  expect(filter.excludes('x/.git')).toBe(true);
});

it.each(['*a*a*a*a*a*b', '**/a/**/a/**/a/**/b', '?*?*?*?*b'])('takes linear time for %s', (pattern) => {
  for (const unit of ['a', 'a/']) {
    expectLinear(pattern, {
      make: (length) => unit.repeat(length / unit.length),
      work: (text) => accepts(pattern, text),
      size: 2_000,
    });
  }
});
