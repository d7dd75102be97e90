import { expect, test } from 'vitest';
import { shortest } from '#test/support/growth.ts';
import { countThreadMs } from '#test/support/thread-time.ts';
import { folderFilter, fileFilter } from '#adapters/sources/shared/path-patterns.ts';

test.each([
  ['*.md', 'a.md', true],
  ['*.md', 'deep/er/a.md', true],
  ['*.md', 'a.mdx', false],
  ['docs/*.md', 'docs/a.md', true],
  ['docs/*.md', 'docs/deep/a.md', false],
  ['docs/**/*.md', 'docs/a.md', true],
  ['docs/**/*.md', 'docs/deep/er/a.md', true],
  ['**/x/**/y', 'a/x/b/x/c/y', true],
  ['**/x/**/y', 'a/b/c/y', false],
  ['/a.md', 'a.md', true],
  ['/a.md', 'b/a.md', false],
  ['drafts/', 'drafts/deep/a.md', true],
  ['drafts/', 'other/drafts/a.md', false],
  ['**/drafts/', 'other/drafts/a.md', true],
  ['?.md', '😀.md', true],
  ['?.md', 'ab.md', false],
  ['a*b*c', 'a-b-b-c', true],
  ['a*b*c', 'a-b-b-', false],
  ['[ab].md', '[ab].md', true],
  ['A.md', 'a.md', false],
  ['**', 'any/thing', true],
])('%s and %s: %s', (pattern, path, fits) => {
  expect(fileFilter({ include: [pattern], exclude: [] })(path)).toBe(fits);
  expect(fileFilter({ include: [], exclude: [pattern] })(path)).toBe(!fits);
});

test('exclude takes precedence, and an empty include takes everything', () => {
  const fits = fileFilter({ include: ['*.md', '*.txt'], exclude: ['b.*'] });
  expect(['a.md', 'a.txt', 'a.pdf', 'b.md'].map(fits)).toEqual([true, true, false, false]);
});

test('patterns that make others slow are compared quickly', () => {
  const spentMs = countThreadMs();
  const many = fileFilter({ include: [`${'*a'.repeat(99)}b`, `${'**/a/'.repeat(39)}b`], exclude: [] });
  expect(many('a'.repeat(2_000))).toBe(false);
  expect(many('a/'.repeat(1_000))).toBe(false);
  expect(spentMs()).toBeLessThan(500);
});

test.each([
  ['a literal part', `*${'a'.repeat(198)}b`],
  ['a literal part within', `*${'a'.repeat(99)}b${'a'.repeat(99)}*`],
  ['many stars', `${'*a'.repeat(99)}b*`],
  ['question marks', `*${'?a'.repeat(99)}`],
  ['folders', `**/${'a/'.repeat(97)}b`],
])('fifty patterns with %s are compared quickly', (_, pattern) => {
  const fits = fileFilter({ include: [], exclude: Array<string>(50).fill(pattern) });
  for (const key of ['a'.repeat(1_000), 'a/'.repeat(500)]) {
    expect(shortest(() => fits(key), 3)).toBeLessThan(25);
  }
});

test('only folders that are excluded as a whole are not entered', () => {
  const enters = folderFilter({ include: [], exclude: ['drafts/', '*.md', 'a/**/old/**'] });
  expect(['drafts', 'x.md', 'a/b/old', 'a', 'other/drafts'].map(enters)).toEqual([
    false,
    true,
    false,
    true,
    true,
  ]);
});
