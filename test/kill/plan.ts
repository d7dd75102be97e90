import { failpoints, type Failpoint } from '#domain/foundation/kernel/failpoint.ts';
import { mulberry32 } from '../support/model-script.ts';
import type { Silence } from '../support/silent-relay.ts';

/** The servers that can fall silent behind their proxies. */
export const silenceTargets = ['postgres', 'temporal', 'model', 'tool'] as const;
export type SilenceTarget = (typeof silenceTargets)[number];

/**
 * One kill. `aim` of a worker kill: while a message is being written, while a tool has a call, or at any
 * point.
 */
export type Strike =
  | { kind: 'worker'; aim: 'writing' | 'tool' | 'anywhere' }
  | { kind: 'gateway' }
  | { kind: 'postgres' }
  | { kind: 'temporal' }
  | { kind: 'silence'; target: SilenceTarget; silence: Required<Silence> }
  | { kind: 'failpoint'; name: Failpoint; skip: number };

export interface PlannedStrike {
  strike: Strike;
  /** The pause before it. */
  pauseMs: number;
}

export interface PlanSize {
  workers: number;
  /** The number of them while a tool has a call; with any, responses use tools. */
  inTool: number;
  gateways: number;
  postgres: number;
  temporal: number;
  /** Of PostgreSQL and of Temporal in turn. */
  silences: number;
  /** How often each of these is armed. */
  failpoints: readonly Failpoint[];
  rounds: number;
  /** The longest pause between two kills. */
  pauseMs: number;
}

/** Reached by calls of tool servers only. */
const aroundEffects: readonly Failpoint[] = ['call.before_effect', 'call.after_effect'];

/** 60 worker kills over responses that use tools, and every failpoint around an effect. */
export const toolForm: PlanSize = {
  workers: 60,
  inTool: 40,
  gateways: 0,
  postgres: 0,
  temporal: 0,
  silences: 0,
  failpoints: ['call.after_start', ...aroundEffects, 'call.before_commit', 'call.after_commit'],
  rounds: 2,
  pauseMs: 1_500,
};

export const longForm: PlanSize = {
  workers: 60,
  inTool: 0,
  gateways: 30,
  postgres: 10,
  temporal: 10,
  silences: 6,
  failpoints: failpoints.filter((name) => !aroundEffects.includes(name) && !name.startsWith('notify.')),
  rounds: 2,
  pauseMs: 2_500,
};

/** About ten kills of every kind, for each ordinary test run. */
export const shortForm: PlanSize = {
  workers: 5,
  inTool: 2,
  gateways: 2,
  postgres: 1,
  temporal: 1,
  silences: 1,
  failpoints: ['create.after_commit', 'publish.after_commit'],
  rounds: 1,
  pauseMs: 900,
};

const writingShare = 0.85;

/** The same kills in the same order for the same seed. */
export function makePlan(size: PlanSize, seed: number): PlannedStrike[] {
  const random = mulberry32(seed);
  const elsewhere = size.workers - size.inTool;
  const aimed = Math.ceil(elsewhere * writingShare);
  const strikes: Strike[] = [
    ...times(elsewhere, (i): Strike => ({ kind: 'worker', aim: i < aimed ? 'writing' : 'anywhere' })),
    ...times(size.inTool, (): Strike => ({ kind: 'worker', aim: 'tool' })),
    ...times(size.gateways, (): Strike => ({ kind: 'gateway' })),
    ...times(size.postgres, (): Strike => ({ kind: 'postgres' })),
    ...times(size.temporal, (): Strike => ({ kind: 'temporal' })),
    ...times(size.silences, (i) => silence(i % 2 === 0 ? 'postgres' : 'temporal', Math.floor(i / 2))),
    ...times(size.rounds, () =>
      size.failpoints.map((name): Strike => ({ kind: 'failpoint', name, skip: Math.floor(random() * 3) })),
    ).flat(),
  ];
  return shuffle(strikes, random).map((strike) => ({
    strike,
    pauseMs: 300 + Math.floor(random() * (size.pauseMs - 300)),
  }));
}

const ways = ['both', 'to-server', 'to-client'] as const;

/**
 * The `nth` silence of its target: each direction in turn, and every fifth time a host that stays away
 * longer.
 */
function silence(target: SilenceTarget, nth: number): Strike {
  const awayMs = nth % 5 === 4 ? 30_000 : 0;
  return { kind: 'silence', target, silence: { way: ways[nth % ways.length] ?? 'both', awayMs } };
}

/** Longer than a call may take when its server, a model's or a tool's, is silent. */
export const maxCallMs = 75_000;

/** Each target in turn, with time to recover in between, so that no call meets two silences of its server. */
export function makeSilences(rounds: number): PlannedStrike[] {
  return times(rounds, (nth) => [
    { strike: silence('postgres', nth), pauseMs: nth === 0 ? 2_000 : maxCallMs },
    { strike: silence('temporal', nth), pauseMs: nth % 5 === 4 ? 55_000 : 25_000 },
    { strike: silence('model', nth), pauseMs: nth % 5 === 4 ? 55_000 : 25_000 },
    { strike: silence('tool', nth), pauseMs: 200 },
  ]).flat();
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
