import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import type { Verdict } from '../../bench/support/report.ts';

const checkout = fileURLToPath(new URL('../../', import.meta.url));

test('the short run of notifications tells everybody once on each side, also over a kill', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'platform-bench-test-'));
  try {
    const json = join(folder, 'lines.json');
    await promisify(execFile)(
      process.execPath,
      ['--disable-warning=FSTDEP023', 'bench/notifications.ts', '--quick', '--json', json],
      { cwd: checkout },
    );
    const { verdicts, killed } = JSON.parse(readFileSync(json, 'utf8')) as {
      verdicts: Verdict[];
      killed: string;
    };
    expect(verdicts.map(({ name }) => name)).toEqual(
      [500, 3_000].flatMap((count) => [
        `${count} recipients, to one insert … select`,
        `${count} recipients, to one row per job`,
      ]),
    );
    for (const { name, ratios } of verdicts)
      expect(
        ratios.every((ratio) => ratio > 0),
        name,
      ).toBe(true);
    expect(killed).toMatch(/^3000 recipients with the worker killed after \d+: all told once, after /);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}, 300_000);
