import { execFileSync } from 'node:child_process';
import { existsSync, rmSync, statSync } from 'node:fs';
import { expect, test } from 'vitest';
import { makeDataFolder } from '../support/data-folder.ts';

const module = new URL('../support/data-folder.ts', import.meta.url).href;

test('servers have a data folder of their own, and the memory of a killed run is released', () => {
  const killed = `const { makeDataFolder } = await import(${JSON.stringify(module)}); console.log(makeDataFolder());`;
  const left = execFileSync(process.execPath, ['--input-type=module', '-e', killed], {
    encoding: 'utf8',
  }).trim();
  const [mine, another] = [makeDataFolder(), makeDataFolder()];
  try {
    expect(existsSync(left)).toBe(!left.startsWith('/dev/shm/'));
    expect(mine).not.toBe(another);
    expect([mine, another].map((folder) => statSync(folder).mode & 0o777)).toEqual([0o700, 0o700]);
  } finally {
    for (const folder of [left, mine, another]) rmSync(folder, { recursive: true, force: true });
  }
});
