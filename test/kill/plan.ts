import { failpoints, type Failpoint } from '#domain/kernel/failpoint.ts';
import { mulberry32 } from '../support/model-script.ts';

/** One kill. `aim` of a worker kill: while a message is being written, or wherever it happens to be. */
export type Strike =
  | { kind: 'worker'; aim: 'writing' | 'anywhere' }
  | { kind: 'gateway' }
  | { kind: 'postgres' }
  | { kind: 'temporal' }
  | { kind: 'failpoint'; name: Failpoint; skip: number };

export interface PlannedStrike {
  strike: Strike;
  /** How long to wait before it. */
  pauseMs: number;
}

export interface PlanSize {
  workers: number;
  gateways: number;
  postgres: number;
  temporal: number;
  /** How often each of these is armed. */
  failpoints: readonly Failpoint[];
  rounds: number;
}

export const longForm: PlanSize = {
  workers: 60,
  gateways: 30,
  postgres: 10,
  temporal: 10,
  failpoints,
  rounds: 2,
};

/** About ten kills of every kind, for each ordinary test run. */
export const shortForm: PlanSize = {
  workers: 4,
  gateways: 2,
  postgres: 1,
  temporal: 1,
  failpoints: ['publish.after_commit', 'turn.after_commit'],
  rounds: 1,
};

const writingShare = 0.85;

/** The same kills in the same order for the same seed. */
export function makePlan(size: PlanSize, seed: number): PlannedStrike[] {
  const random = mulberry32(seed);
  const aimed = Math.ceil(size.workers * writingShare);
  const strikes: Strike[] = [
    ...times(size.workers, (i): Strike => ({ kind: 'worker', aim: i < aimed ? 'writing' : 'anywhere' })),
    ...times(size.gateways, (): Strike => ({ kind: 'gateway' })),
    ...times(size.postgres, (): Strike => ({ kind: 'postgres' })),
    ...times(size.temporal, (): Strike => ({ kind: 'temporal' })),
    ...times(size.rounds, () =>
      size.failpoints.map((name): Strike => ({ kind: 'failpoint', name, skip: Math.floor(random() * 3) })),
    ).flat(),
  ];
  return shuffle(strikes, random).map((strike) => ({ strike, pauseMs: 300 + Math.floor(random() * 2_200) }));
}

/** The seed of a run: SEED in the environment, or one by the clock. */
export function seedFrom(env: NodeJS.ProcessEnv): number {
  const given = Number(env['SEED']);
  return Number.isInteger(given) && given > 0 ? given : Date.now() % 1_000_000_000;
}

function times<T>(count: number, make: (i: number) => T): T[] {
  return Array.from({ length: count }, (_, i) => make(i));
}

function shuffle<T>(list: T[], random: () => number): T[] {
  for (let i = list.length - 1; i > 0; i -= 1) {
    const j = Math.floor(random() * (i + 1));
    [list[i], list[j]] = [list[j]!, list[i]!];
  }
  return list;
}
