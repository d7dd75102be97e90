import { median } from './stats.ts';

export interface Line {
  /** The subject of the comparison. */
  name: string;
  /** One ratio per round, ours to the peer's. */
  ratios: number[];
  /** The ratio of all rounds together, where it is more meaningful than the median. */
  whole?: number;
  goal: number;
  /** Whether the goal is a minimum or a maximum. */
  better: 'higher' | 'lower';
  /** Our value and the peer's in their own unit, for display. */
  ours: string;
  peer: string;
}

export interface Verdict extends Line {
  ratio: number;
  met: boolean;
}

export function judge(line: Line): Verdict {
  const ratio = line.whole ?? median(line.ratios);
  return { ...line, ratio, met: line.better === 'higher' ? ratio >= line.goal : ratio <= line.goal };
}

/** A table for a terminal: the ratio of the whole, or the median of the rounds', with their span, the goal, and whether it is met. */
export function toTable(lines: readonly Verdict[]): string {
  const rows = lines.map(({ name, ratio, ratios, goal, better, met, ours, peer }) => [
    name,
    ours,
    peer,
    `${format(ratio)}×`,
    `${format(Math.min(...ratios))}–${format(Math.max(...ratios))}`,
    `${better === 'higher' ? '≥' : '≤'} ${format(goal)}×`,
    met ? 'met' : 'MISSED',
  ]);
  const table = [['what', 'ours', 'peer', 'ratio', 'min–max', 'goal', ''], ...rows];
  const widths = table[0]!.map((_, column) => Math.max(...table.map((row) => row[column]!.length)));
  return table
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** One line: how many goals are met, and how long it took. */
export function summaryOf(
  verdicts: readonly Verdict[],
  { startedAt, quick }: { startedAt: number; quick: boolean },
): string {
  const met = verdicts.filter((verdict) => verdict.met).length;
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  const note = quick ? '; --quick is too short to judge by' : '';
  return `${met} of ${verdicts.length} goals met, in ${seconds} s${note}`;
}

export function format(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}
