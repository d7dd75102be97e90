import { expect, test } from 'vitest';
import type { Verdict } from '../../bench/support/report.ts';
import { realWeights } from '../support/builtin-weights.ts';
import { runQuickly } from './quick-run.ts';

const weights = await realWeights();

test.skipIf(weights === null)(
  'the short run embeds documents, beside the model alone and beside another tenant',
  async () => {
    const { report, judged } = await runQuickly('ingest');
    const verdicts = report as Verdict[];
    expect(verdicts.map(({ name }) => name)).toEqual([
      'ingest of documents of 10 kB, to bare inference in one thread',
      "another tenant's first token beside an ingest (p95)",
      'the same beside a process that only calculates (p95)',
      "the worker's memory above idle, of 350 MB",
    ]);
    for (const { name, ratios, ratio } of verdicts)
      expect(
        [...ratios, ratio].every((value) => value > 0 && Number.isFinite(value)),
        name,
      ).toBe(true);
    expect(judged).toBe(verdicts.length);
  },
  300_000,
);
