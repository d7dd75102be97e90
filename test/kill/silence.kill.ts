import { expect, it } from 'vitest';
import { slack } from '../support/slack.ts';
import { percentile } from './distribution.ts';
import { runKills } from './kill-run.ts';
import { maxCallMs, makeSilences, seedFrom, silenceTargets } from './plan.ts';
import { report } from './report.ts';
import { parts } from './scripts.ts';
import { toolParts } from './tool-parts.ts';

/** Of each target. */
const rounds = Number(process.env['SILENCES'] ?? 15);

it(`no response is lost, stuck or wrong over ${rounds * 4} silences of PostgreSQL, Temporal, a model and a tool server`, async () => {
  const seed = seedFrom(process.env);
  console.log(`silences: SEED=${seed}`);
  const run = await runKills({
    seed,
    plan: makeSilences(rounds),
    gateways: 2,
    workers: 2,
    parts: [...toolParts, ...parts],
    concurrency: 20,
    say: (line) => console.log(line),
  });
  console.log(report(run));
  expect(run.missed).toEqual([]);
  expect(run.lost).toEqual([]);
  expect(run.stuck).toEqual([]);
  expect(run.tools?.broken).toEqual([]);
  // A call at a silent tool server is rightly unknown, every other outcome is known.
  const inDoubt = run.struck.flatMap(({ strike, time }) =>
    strike.kind === 'silence' && strike.target === 'tool'
      ? [{ from: time, until: time + strike.silence.awayMs + maxCallMs }]
      : [],
  );
  const isFalse = (at: number) => !inDoubt.some(({ from, until }) => at > from && at < until);
  expect(run.tools?.unknownAt.filter(isFalse)).toEqual([]);
  expect([...run.silences.keys()].toSorted()).toEqual(silenceTargets.toSorted());
  for (const target of ['postgres', 'temporal'] as const) {
    expect(percentile(run.silences.get(target) ?? [], 0.5), target).toBeLessThanOrEqual(10_000 * slack());
  }
}, 3_600_000);
