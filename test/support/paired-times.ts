import { median } from '../../bench/support/stats.ts';

/**
 * The difference between two variants, as a share of the second one's median, with its confidence interval.
 */
export interface Difference {
  median: number;
  from: number;
  to: number;
  rounds: number;
}

type Way = (round: number) => Promise<unknown>;

/** The interval of a median reaches this many standard deviations to both sides: it misses once in 15,000 times. */
const deviations = 4;

/**
 * Milliseconds of each variant, round by round. Every round measures all variants in a random order, so that
 * a slowdown of the machine affects all alike. It stops after `seconds`.
 */
export async function timeInTurns<Name extends string>(
  ways: Record<Name, Way>,
  { rounds, from = 0, seconds = Infinity }: { rounds: number; from?: number; seconds?: number },
): Promise<Record<Name, number[]>> {
  const names = Object.keys(ways) as Name[];
  const times = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>;
  const deadline = performance.now() + seconds * 1_000;
  for (let round = from; round < from + rounds && performance.now() < deadline; round += 1) {
    for (const name of shuffled(names)) {
      const startedAt = performance.now();
      await ways[name](round);
      times[name].push(performance.now() - startedAt);
    }
  }
  return times;
}

/**
 * In as many rounds as needed to decide on which side of `share` the difference lies, at most `atMost` rounds
 * and `seconds`: an undecided difference is not reported.
 */
export async function differenceInTurns(
  ways: { base: Way; other: Way },
  { share, atMost, seconds, look = 250 }: { share: number; atMost: number; seconds: number; look?: number },
): Promise<Difference> {
  const base: number[] = [];
  const other: number[] = [];
  const deadline = performance.now() + seconds * 1_000;
  for (;;) {
    const times = await timeInTurns(ways, { rounds: look, from: base.length });
    base.push(...times.base);
    other.push(...times.other);
    const difference = differenceOf(base, other);
    const isWithin = difference.from > -share && difference.to < share;
    const isBeyond = difference.from > share || difference.to < -share;
    if (isWithin || isBeyond || base.length >= atMost || performance.now() > deadline) {
      return difference;
    }
  }
}

/** Of the rounds' differences, so that a slow round counts on both sides. */
export function differenceOf(base: readonly number[], other: readonly number[]): Difference {
  const rounds = base.length;
  const unit = median(base);
  const differences = base.map((ms, round) => (other[round]! - ms) / unit).toSorted((a, b) => a - b);
  const middle = (rounds - 1) / 2;
  const margin = (deviations * Math.sqrt(rounds)) / 2;
  return {
    median: median(differences),
    from: differences[Math.max(0, Math.floor(middle - margin))]!,
    to: differences[Math.min(rounds - 1, Math.ceil(middle + margin))]!,
    rounds,
  };
}

/** Whether it is at least `share` and significant: load of the machine must not create a difference. */
export function differs({ median: found, from, to }: Difference, share: number): boolean {
  return Math.abs(found) >= share && (from > 0 || to < 0);
}

/** `+1.2 % (0.4 to 2.1, n = 2000)` */
export function inPercent({ median: found, from, to, rounds }: Difference): string {
  const percent = (share: number) => (share * 100).toFixed(1);
  return `${found < 0 ? '' : '+'}${percent(found)} % (${percent(from)} to ${percent(to)}, n = ${rounds})`;
}

function shuffled<T>(values: readonly T[]): T[] {
  return values
    .map((value) => ({ value, place: Math.random() }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ value }) => value);
}
