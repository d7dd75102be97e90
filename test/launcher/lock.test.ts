import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tryLock } from '../../bin/launcher/lock.ts';

test('a held lock is refused to others, and free again after its release', () => {
  const folder = mkdtempSync(join(tmpdir(), 'lock-'));
  const path = join(folder, 'a.lock');
  const held = tryLock(path);
  expect(readdirSync(folder)).toEqual(['a.lock']);
  expect(tryLock(path)).toBeUndefined();
  held?.release();
  tryLock(path)!.release();
});

test(
  'three processes that take and release one lock never hold it together',
  { timeout: 30_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'lock-'));
    const counter = join(folder, 'counter');
    writeFileSync(counter, '0');
    const codes = await Promise.all(
      [1, 2, 3].map(
        () =>
          new Promise((resolve) => {
            const args = ['test/launcher/stand-ins/lock-counter.ts', join(folder, 'a.lock'), counter, '300'];
            spawn(process.execPath, args, { stdio: 'inherit' }).once('exit', resolve);
          }),
      ),
    );
    expect(codes).toEqual([0, 0, 0]);
    expect(readFileSync(counter, 'utf8')).toBe('900');
  },
);
