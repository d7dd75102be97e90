import type { Place } from '#domain/operations/sweep-kinds/round.ts';
import type { SweepDependencies } from '#domain/operations/sweep-kinds/sweep.ts';
import { sweeps, type SweepName } from '#domain/operations/maintenance/sweeps.ts';
import { roundOf } from '#test/support/sweeps.ts';
import type { Line } from '../support/report.ts';
import type { UpkeepScale } from './upkeep-scale.ts';

export interface Rounds {
  sweep: SweepName;
  /** Of each round, in seconds. */
  seconds: number[];
  done: number;
  failed: number;
}

/** Round after round, each from where the one before it stopped, until nothing is left. */
export async function runRounds(
  sweep: SweepName,
  deps: SweepDependencies,
  { budgetSeconds }: UpkeepScale,
  say: (line: string) => void,
): Promise<Rounds> {
  const found: Rounds = { sweep, seconds: [], done: 0, failed: 0 };
  for (let place: Place | null = null, more = true; more;) {
    const since = performance.now();
    const endsAt = since + budgetSeconds * 1_000;
    const result = await sweeps[sweep].sweep.run(
      deps,
      roundOf({ place, mayGoOn: () => performance.now() < endsAt }),
    );
    const seconds = (performance.now() - since) / 1_000;
    found.seconds.push(seconds);
    found.done += result.done;
    found.failed += result.failed;
    place = result.next;
    more = place !== null;
    say(
      `${sweep}, round ${found.seconds.length}: ${seconds.toFixed(1)} of ${budgetSeconds} s, ${result.done} rows, ` +
        (place === null ? 'the end' : `the next goes on at ${place.join(' ')}`),
    );
  }
  return found;
}

export function toLine({ sweep, seconds, done }: Rounds, scale: UpkeepScale): Line {
  return {
    name: `${sweep}, longest round`,
    ratios: seconds.map((each) => each / scale.budgetSeconds),
    whole: Math.max(...seconds) / scale.budgetSeconds,
    goal: (scale.budgetSeconds + scale.graceSeconds) / scale.budgetSeconds,
    better: 'lower',
    ours: `${Math.max(...seconds).toFixed(1)} s`,
    peer: `${scale.budgetSeconds} s of budget, ${seconds.length} rounds, ${done} rows`,
  };
}
