import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import type { Verdict } from '../../bench/support/report.ts';

const checkout = fileURLToPath(new URL('../../', import.meta.url));

test('the short run measures every filter, the totals, the writes and the tail', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'platform-bench-test-'));
  try {
    const json = join(folder, 'lines.json');
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--disable-warning=FSTDEP023', 'bench/events.ts', '--quick', '--json', json],
      { cwd: checkout },
    );
    const verdicts = JSON.parse(readFileSync(json, 'utf8')) as Verdict[];
    const lists = verdicts.filter(({ name }) => name.startsWith('list, '));
    expect(lists).toHaveLength(20);
    expect(verdicts.slice(lists.length).map(({ name }) => name)).toEqual([
      'counts beside GROUP BY',
      'counts, flat',
      'event writes, 8 writers',
      'longest unsealed tail',
    ]);
    for (const { name, ratios, ratio } of verdicts)
      expect([...ratios, ratio].every(Number.isFinite), name).toBe(true);
    expect(stdout.split('\n').filter((row) => /(met|MISSED)$/.test(row))).toHaveLength(verdicts.length);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}, 600_000);
