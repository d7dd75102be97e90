import { existsSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { describe, expect, it } from 'vitest';
import { defects } from '../../scripts/mutants/defects.ts';
import { replaceOnce } from '../../scripts/mutants/replace-once.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

describe('the list of defects', () => {
  it.each(defects)('"$name" still fits the source, and names an existing test', (defect) => {
    const source = read(defect.file);
    const changed = replaceOnce(source, defect.replace);
    expect(changed).not.toBe(source);
    // Code that cannot be parsed fails every test.
    if (defect.file.endsWith('.ts')) expect(() => stripTypeScriptTypes(changed)).not.toThrow();
    expect(existsSync(new URL(`../../${defect.test}`, import.meta.url))).toBe(true);
  });

  it('is refused where a text occurs never or twice', () => {
    expect(() => replaceOnce('a b', [['c', 'd']])).toThrow('found 0 times');
    expect(() => replaceOnce('a b a', [['a', 'd']])).toThrow('found 2 times');
    expect(replaceOnce('a b', [['a', 'c']])).toBe('c b');
  });
});
