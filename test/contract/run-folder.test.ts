import { execFileSync } from 'node:child_process';
import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeRunFolder } from '../support/run-folder.ts';

const module = new URL('../support/run-folder.ts', import.meta.url).href;

test('a run has a folder of its own, and removes what one that was killed has left', () => {
  const killed = `const { makeRunFolder } = await import(${JSON.stringify(module)}); console.log(makeRunFolder().path);`;
  const left = execFileSync(process.execPath, ['--input-type=module', '-e', killed], {
    encoding: 'utf8',
  }).trim();
  expect(existsSync(left)).toBe(true);
  const folder = makeRunFolder();
  expect(existsSync(left)).toBe(false);
  expect(statSync(folder.path).mode & 0o777).toBe(0o700);
  writeFileSync(join(folder.path, 'file'), 'kept until the end');
  folder.remove();
  expect(existsSync(folder.path)).toBe(false);
});

test('the files of this run are in its folder, which the runs beside it leave alone', () => {
  expect(process.env['TMPDIR']).toMatch(/\/platform-run-\d+$/);
  expect(existsSync(process.env['TMPDIR']!)).toBe(true);
});
