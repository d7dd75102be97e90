import { expect, test } from 'vitest';
import type { Verdict } from '../../bench/support/report.ts';
import { runQuickly } from './quick-run.ts';

test('the short run of notifications notifies every recipient once on each side, also over a kill', async () => {
  const { report } = await runQuickly('notifications');
  const { verdicts, killed } = report as { verdicts: Verdict[]; killed: string };
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
}, 300_000);
