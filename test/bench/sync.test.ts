import { expect, test } from 'vitest';
import type { Verdict } from '../../bench/support/report.ts';
import { runQuickly } from './quick-run.ts';

test('the short run synchronises a bucket, a repository and a folder, beside COPY and another tenant, and finds their documents', async () => {
  const { report, judged } = await runQuickly('sync');
  const verdicts = report as Verdict[];
  const ofSource = (title: string, requests = [`${title}, nothing changed, requests per 1,000`]) => [
    `${title}, first run`,
    `${title}, nothing changed`,
    ...requests,
    `${title}, 1 % changed, to these alone`,
  ];
  expect(verdicts.map(({ name }) => name)).toEqual([
    ...ofSource('S3'),
    ...ofSource('git'),
    ...ofSource('files', []),
    "another tenant's first token beside a first run (p95)",
    "the worker's memory over the runs, of 200 MB",
    "the worker's memory over 3000 listed, of 200 MB",
  ]);
  for (const { name, ratio } of verdicts) expect(ratio >= 0 && Number.isFinite(ratio), name).toBe(true);
  expect(judged).toBe(verdicts.length);
}, 300_000);
