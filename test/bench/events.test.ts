import { expect, test } from 'vitest';
import type { Verdict } from '../../bench/support/report.ts';
import { runQuickly } from './quick-run.ts';

test('the short run measures every filter, the totals, the writes and the tail', async () => {
  const { report, judged } = await runQuickly('events');
  const verdicts = report as Verdict[];
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
  expect(judged).toBe(verdicts.length);
}, 600_000);
