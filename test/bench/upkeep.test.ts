import { expect, test } from 'vitest';
import type { Verdict } from '../../bench/support/report.ts';
import type { Rounds } from '../../bench/upkeep/rounds.ts';
import { runQuickly } from './quick-run.ts';

test('the short run sweeps all that is due in several rounds, and appends beside a reader', async () => {
  const { report, judged } = await runQuickly('upkeep');
  const { found, described, verdicts } = report as {
    found: Rounds[];
    described: number;
    verdicts: Verdict[];
  };
  expect(found).toMatchObject([
    { sweep: 'purgeStaleRows', done: 20_000, failed: 0 },
    { sweep: 'reconcileResponses', done: 0, failed: 0 },
  ]);
  for (const { sweep, seconds } of found) expect(seconds.length, sweep).toBeGreaterThanOrEqual(4);
  expect(described).toBeGreaterThanOrEqual(0);
  for (const { name, ratios, ratio } of verdicts)
    expect([...ratios, ratio].every(Number.isFinite), name).toBe(true);
  expect(judged).toBe(3);
}, 600_000);
