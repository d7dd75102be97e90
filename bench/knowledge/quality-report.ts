import { format, judge, type Verdict } from '../support/report.ts';
import { alphas, type Quality } from './quality.ts';

/** nDCG@10 by collection and alpha. */
export function qualityTable(found: readonly Quality[]): string {
  const rows = found.map(({ name, questions, passages, before, byAlpha }) =>
    [
      name,
      questions,
      passages,
      before.toFixed(3),
      ...alphas.map((alpha) => at(byAlpha, alpha).toFixed(3)),
    ].map(String),
  );
  const means = [before, ...alphas.map((alpha) => (one: Quality) => at(one.byAlpha, alpha))];
  const table = [
    ['nDCG@10', 'questions', 'passages', 'before', ...alphas.map((alpha) => `α ${alpha}`)],
    ...rows,
    ['mean', '', '', ...means.map((of) => mean(found, of).toFixed(3))],
  ];
  const widths = table[0]!.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  return table
    .map((row) =>
      row
        .map((cell, n) => cell.padEnd(widths[n] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** The goals, relative to the keyword search before this one. */
export function judgeQuality(found: readonly Quality[]): Verdict[] {
  const keyword = (one: Quality) => at(one.byAlpha, 0);
  const hybrid = (one: Quality) => at(one.byAlpha, 0.75);
  const line = (name: string, of: (one: Quality) => number, goal: number) =>
    judge({
      name,
      ratios: found.map((one) => of(one) / before(one)),
      whole: mean(found, of) / mean(found, before),
      goal,
      better: 'higher',
      ours: format(mean(found, of)),
      peer: format(mean(found, before)),
    });
  const worst = found.map((one) => hybrid(one) / Math.max(keyword(one), before(one)));
  return [
    line('nDCG@10 of both at alpha 0.75', hybrid, 1.18),
    line('nDCG@10 of BM25', keyword, 1.05),
    judge({
      name: 'both on the worst collection, to keywords',
      ratios: worst,
      whole: Math.min(...worst),
      goal: 1,
      better: 'higher',
      ours: '',
      peer: '',
    }),
  ];
}

const before = (one: Quality): number => one.before;
const at = (byAlpha: Quality['byAlpha'], alpha: number): number => byAlpha[alpha] ?? Number.NaN;
const mean = (found: readonly Quality[], of: (one: Quality) => number): number =>
  found.reduce((sum, one) => sum + of(one), 0) / found.length;
